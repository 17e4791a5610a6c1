// tools/cli/edit.cpp - `sardonyx optimize`, `check` and `print`: commands that read a model without running it.
#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "inputs.h"
#include "model_card.h"
#include "progress.h"
#include "terminal.h"

namespace sardonyx::cli {
namespace {

using nlohmann::json;

struct OptimizeArguments {
  std::string model;
  std::string output;
  std::vector<std::string> dims;
  std::vector<std::string> fixed;  // NAME=FILE or NAME=NUMBER
  std::string rule;
  bool explain = false;
  GraphOptimizationLevel level = ORT_ENABLE_ALL;
};

// How often each operator occurs before and after, if that differs: "Erf  12 -> 0".
std::string Changes(const json& before, const json& after) {
  json counts = json::object();
  for (const auto& [name, count] : before["operators"].items()) counts[name] = {count, 0};
  for (const auto& [name, count] : after["operators"].items()) {
    counts[name] = {counts.contains(name) ? counts[name][0] : json(0), count};
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, pair] : counts.items()) {
    if (pair[0] != pair[1]) rows.push_back({name, pair[0].dump() + " -> " + pair[1].dump()});
  }
  return Columns(rows);
}

// Fixes the inputs that --set-input names. It is an error if neither the model nor --dim nor a file gives a size.
void FixInputs(OrtSessionOptions* options, const ModelSource& model, const OptimizeArguments& arguments) {
  const std::vector<ValueDescription> all = InputsOf(ModelCard(model));
  for (const std::string& text : arguments.fixed) {
    const std::string name = SplitPair(text, "--set-input").first;
    const auto found = std::ranges::find(all, name, &ValueDescription::name);
    if (found == all.end()) throw Failure(ORT_INVALID_ARGUMENT, "--set-input: the model has no input '" + name + "'");
    InputArguments inputs{.values = {text}};
    for (const std::string& dim : arguments.dims)
      if (std::ranges::find(found->symbols, SplitPair(dim, "--dim").first) != found->symbols.end())
        inputs.dims.push_back(dim);
    std::vector<std::string> assumed;
    const std::vector<Input> made = MakeInputs({*found}, inputs, assumed);
    if (!assumed.empty())
      throw Failure(ORT_INVALID_ARGUMENT, "--set-input " + name + ": the model leaves open " + assumed[0] +
                                              "; give it with --dim, or the tensor in a file");
    Check(Sardonyx().FixInput(options, name.c_str(), ToValue(made[0].tensor).get()));
  }
}

void Optimize(const OptimizeArguments& arguments, const Common& common) {
  if (arguments.output.empty() && !arguments.explain) {
    throw Failure(ORT_INVALID_ARGUMENT,
                  "optimize: expected --output FILE (to write the model) or --explain, found neither");
  }
  const ModelSource model = OpenModel(arguments.model);
  const Handle<OrtEnv> env = MakeEnv(false);
  const Handle<OrtSessionOptions> options =
      MakeOptions(*env, {.level = arguments.level, .dims = ParseDims(arguments.dims)});
  if (!arguments.fixed.empty()) FixInputs(options.get(), model, arguments);
  json answer = json::object();
  if (arguments.explain) {
    answer["explanation"] = Text([&](OrtAllocator* allocator, char** text) {
      return Sardonyx().ExplainRules(env.get(), model.path_or_null(), model.data_or_null(), model.bytes.size(),
                                     options.get(), arguments.rule.empty() ? nullptr : arguments.rule.c_str(),
                                     allocator, text);
    });
    if (!common.json) std::cout << answer["explanation"].get<std::string>();
  }
  if (!arguments.output.empty()) {
    const std::filesystem::path output = arguments.output;
    auto progress = std::make_unique<Progress>("optimizing " + arguments.model);
    Check(Sardonyx().OptimizeModelToFile(env.get(), model.path_or_null(), model.data_or_null(), model.bytes.size(),
                                         options.get(), output.c_str()));
    progress.reset();
    const json before = ModelCard(model);
    const json after = ModelCard(OpenModel(output));
    answer.update({{"output", arguments.output},
                   {"nodes_before", before["node_count"]},
                   {"nodes_after", after["node_count"]},
                   {"operators_before", before["operators"]},
                   {"operators_after", after["operators"]}});
    if (!common.json) {
      std::cout << "wrote " << Styled(Style::kBold, arguments.output) << ": " << before["node_count"] << " nodes -> "
                << after["node_count"] << "\n"
                << Changes(before, after);
    }
  }
  if (common.json) std::cout << answer.dump(2) << "\n";
}

struct CheckArguments {
  std::string model;
};

void CheckOne(const CheckArguments& arguments, const Common& common) {
  const ModelSource model = OpenModel(arguments.model);
  const Handle<OrtEnv> env = MakeEnv(false);
  {
    const Progress progress("checking " + arguments.model);
    Check(Sardonyx().CheckModel(env.get(), model.path_or_null(), model.data_or_null(), model.bytes.size(), nullptr));
  }
  if (common.json) {
    std::cout << json{{"ok", true}, {"model", arguments.model}}.dump(2) << "\n";
  } else {
    std::cout << arguments.model << ": " << Styled(Style::kGreen, "ok") << "\n";
  }
}

struct PrintArguments {
  std::string model;
  std::size_t max_elements = 16;
  bool optimized = false;
  GraphOptimizationLevel level = ORT_ENABLE_ALL;
};

void Print(const PrintArguments& arguments) {
  const ModelSource model = OpenModel(arguments.model);
  if (arguments.optimized) {
    const Session session(model, {.level = arguments.level});
    std::cout << Text([&](OrtAllocator* allocator, char** text) {
      return Sardonyx().SessionModelText(session.get(), arguments.max_elements, allocator, text);
    });
    return;
  }
  std::cout << Text([&](OrtAllocator* allocator, char** text) {
    return Sardonyx().PrintModelText(model.path_or_null(), model.data_or_null(), model.bytes.size(),
                                     arguments.max_elements, allocator, text);
  });
}

}  // namespace

void AddOptimize(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("optimize", "Write the optimized model, or explain what the optimizer does");
  command->group("Commands");
  auto arguments = std::make_shared<OptimizeArguments>();
  AddModel(*command, arguments->model);
  command->add_option("-o,--output", arguments->output, "Write the optimized model to this file")->option_text("FILE");
  AddLevel(*command, arguments->level);
  AddDims(*command, arguments->dims);
  command
      ->add_option(
          "--set-input", arguments->fixed,
          "Replace an input by a constant: NAME=FILE (.npy, .npz or .pb), or NAME=NUMBER to fill it with a number "
          "(may be repeated)")
      ->option_text("NAME=VALUE")
      ->expected(1)
      ->take_all();
  CLI::Option* explain = command->add_flag("--explain", arguments->explain,
                                           "Explain what each optimizer pass changed, and why it left nodes alone");
  command->add_option("--rule", arguments->rule, "Explain only this pass, such as fuse_gelu, in detail")
      ->option_text("NAME")
      ->needs(explain);
  AddJson(*command, common);
  command->footer(
      "With --level basic, the model keeps its opset and runs in any runtime. Higher levels may use\n"
      "operators that only Sardonyx and ONNX Runtime have, or only Sardonyx.\n\n"
      "Examples:\n"
      "  sardonyx optimize model.onnx -o faster.onnx\n"
      "  sardonyx optimize model.onnx -o portable.onnx --level basic\n"
      "  sardonyx optimize model.onnx -o special.onnx --dim batch=2 --set-input x=x.npy\n"
      "  sardonyx optimize model.onnx --explain");
  command->callback([arguments, &common] { Optimize(*arguments, common); });
}

void AddCheck(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("check", "Check that a model is valid and that this build can run it");
  command->group("Commands");
  auto arguments = std::make_shared<CheckArguments>();
  AddModel(*command, arguments->model);
  AddJson(*command, common);
  command->footer(
      "Examples:\n"
      "  sardonyx check model.onnx\n"
      "  sardonyx check model.onnx --json");
  command->callback([arguments, &common] { CheckOne(*arguments, common); });
}

void AddPrint(CLI::App& app, Common& /*common*/) {
  CLI::App* command = app.add_subcommand("print", "Print a model in ONNX's text syntax");
  command->group("Commands");
  auto arguments = std::make_shared<PrintArguments>();
  AddModel(*command, arguments->model);
  command
      ->add_option("--max-elements", arguments->max_elements,
                   "Leave out weights with more elements than this; 0 prints all (default: 16)")
      ->option_text("NUMBER");
  CLI::Option* optimized =
      command->add_flag("--optimized", arguments->optimized, "Print the optimized graph, as a session runs it");
  AddLevel(*command, arguments->level);
  command->get_option("--level")->needs(optimized);
  command->footer(
      "Examples:\n"
      "  sardonyx print model.onnx\n"
      "  sardonyx print model.onnx --max-elements 0\n"
      "  sardonyx print model.onnx --optimized --level basic");
  command->callback([arguments] { Print(*arguments); });
}

}  // namespace sardonyx::cli
