// tools/cli/compile.cpp - `sardonyx compile`: writes a model in the form in which it loads fastest.
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "progress.h"
#include "terminal.h"

namespace sardonyx::cli {
namespace {

using nlohmann::json;

struct CompileArguments {
  std::string model;
  std::string output;  // "": beside the model
  std::vector<std::string> dims;
  GraphOptimizationLevel level = ORT_ENABLE_ALL;
};

std::string Mebibytes(std::uintmax_t bytes) {
  constexpr double kMebibyte = 1 << 20;
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / kMebibyte);
  return text;
}

void Compile(const CompileArguments& arguments, const Common& common) {
  const ModelSource model = OpenModel(arguments.model);
  std::filesystem::path output = arguments.output;
  if (output.empty()) output = std::filesystem::path(arguments.model).replace_extension(".sdx");
  if (output == std::filesystem::path(arguments.model))
    throw Failure(ORT_INVALID_ARGUMENT, "--output: expected another file than the model, found " + output.string());
  const Handle<OrtEnv> env = MakeEnv(false);
  const Handle<OrtSessionOptions> options = MakeOptions(
      *env, {.level = arguments.level, .config = {"session.save_model_format=SDX"}, .dims = ParseDims(arguments.dims)});
  {
    const Progress progress("compiling " + arguments.model);
    Check(Sardonyx().OptimizeModelToFile(env.get(), model.path_or_null(), model.data_or_null(), model.bytes.size(),
                                         options.get(), output.c_str()));
  }
  const std::uintmax_t bytes = std::filesystem::file_size(output);
  if (common.json) {
    std::cout << json{{"output", output.string()}, {"bytes", bytes}}.dump(2) << "\n";
  } else {
    std::cout << "wrote " << Styled(Style::kBold, output.string()) << ": " << Mebibytes(bytes) << "\n";
  }
}

}  // namespace

void AddCompile(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("compile", "Write a model that loads at once: optimized, its weights packed");
  command->group("Commands");
  auto arguments = std::make_shared<CompileArguments>();
  AddModel(*command, arguments->model);
  command
      ->add_option("-o,--output", arguments->output,
                   "Write the compiled model to this file (default: beside the model, with the ending .sdx)")
      ->option_text("FILE");
  AddLevel(*command, arguments->level);
  AddDims(*command, arguments->dims);
  AddJson(*command, common);
  command->footer(
      "A compiled model runs in Sardonyx alone, with the results of the model it is made from. Its weights\n"
      "are in it twice: in ONNX's form, and packed for this machine. Processes share them. A machine with\n"
      "another CPU packs them again when it loads the file, which then takes as long as usual.\n\n"
      "Examples:\n"
      "  sardonyx compile model.onnx\n"
      "  sardonyx compile model.onnx -o fast.sdx\n"
      "  sardonyx compile model.onnx -o small_batch.sdx --dim batch=1");
  command->callback([arguments, &common] { Compile(*arguments, common); });
}

}  // namespace sardonyx::cli
