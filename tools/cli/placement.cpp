// tools/cli/placement.cpp - `sardonyx explain-placement` and `plan`: providers of nodes, and memory of values.
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "terminal.h"

namespace sardonyx::cli {
namespace {

using json = nlohmann::ordered_json;

struct PlacementArguments {
  std::string model;
  InputArguments inputs;
  SessionSettings session;
  bool run = false;
};

// Runs once. Returns the dimensions whose size was not given, so that 1 was assumed.
std::vector<std::string> RunOnce(const Session& session, const InputArguments& arguments) {
  std::vector<std::string> assumed, names;
  std::vector<Handle<OrtValue>> values;
  const std::vector<Input> inputs = MakeInputs(session.inputs(), arguments, assumed);  // the values lie in them
  for (const Input& input : inputs) values.push_back(ToValue(input.tensor));
  for (const ValueDescription& output : session.outputs()) names.push_back(output.name);
  session.Run(values, names);
  return assumed;
}

void PrintAssumed(const std::vector<std::string>& assumed) {
  for (const std::string& name : assumed)
    std::cout << Styled(Style::kDim, "  the model leaves " + name + " open: 1 is assumed (see --dim and --shape)")
              << "\n";
}

void ExplainPlacement(PlacementArguments& arguments, const Common& common) {
  arguments.session.dims = ParseDims(arguments.inputs.dims);
  const Session session = Load(arguments.model, arguments.session);
  arguments.inputs.dims.clear();  // the session's inputs are of these sizes now
  std::vector<std::string> assumed;
  if (arguments.run) assumed = RunOnce(session, arguments.inputs);
  const json rows = json::parse(Text([&](OrtAllocator* allocator, char** text) {
    return Sardonyx().SessionPlacement(session.get(), allocator, text);
  }));
  const json providers = json::parse(Text([&](OrtAllocator* allocator, char** text) {
    return Sardonyx().SessionProviders(session.get(), allocator, text);
  }));
  if (common.json) {
    json answer = {{"model", arguments.model}};
    answer.update(providers);
    answer["nodes"] = rows;
    std::cout << answer.dump(2) << "\n";
    return;
  }
  PrintAssumed(assumed);
  std::map<std::string, std::int64_t> counts;
  std::int64_t bytes = 0;
  std::vector<std::vector<std::string>> table = {{"node", "operator", "provider", "copied", "reason"}};
  for (const json& row : rows) {
    ++counts[row["provider"]];
    const std::string domain = row["domain"];
    const bool known = row["bytes_copied"].is_number();
    const auto copied = known ? row["bytes_copied"].get<std::int64_t>() : 0;
    bytes += copied;
    table.push_back({ShownName(row["node"], row["value"]),
                     (domain.empty() ? "" : domain + ".") + row["op_type"].get<std::string>(), row["provider"],
                     !known        ? "?"
                     : copied != 0 ? ByteText(static_cast<double>(copied))
                                   : "",
                     row["reason"]});
  }
  std::cout << Heading("Providers");
  std::vector<std::vector<std::string>> summary;
  for (const json& name : providers["providers"])
    summary.push_back({name, std::to_string(counts[name.get<std::string>()]) + " nodes"});
  for (const json& missing : providers["missing"])
    summary.push_back({missing["provider"], "missing: " + missing["reason"].get<std::string>()});
  if (bytes != 0)
    summary.push_back({"copies", ByteText(static_cast<double>(bytes)) +
                                     (arguments.run ? " in the run"
                                                    : " per run, as far as that is known without a run (see --run)")});
  std::cout << Columns(summary) << "\n" << Heading("Nodes, in the order of execution") << Columns(table);
}

struct PlanArguments {
  std::string model;
  InputArguments inputs;
  SessionSettings session;
  bool text = false;
};

void PrintPlan(const json& plan) {
  const std::string graph = plan["graph"];
  std::cout << Heading(graph.empty() ? "Graph" : "Body " + graph);
  for (const json& memory : plan["memories"])
    std::cout << "  arena of the " << memory["device"].get<std::string>() << ": "
              << ByteText(memory["arena_bytes"].get<double>()) << "\n";
  std::vector<std::vector<std::string>> rows = {{"offset", "bytes", "first step", "last step", "values"}};
  double sum = 0;
  for (const json& buffer : plan["buffers"]) {
    std::string names;
    for (const json& name : buffer["values"]) names += (names.empty() ? "" : ", ") + name.get<std::string>();
    sum += buffer["bytes"].get<double>();
    rows.push_back({buffer["offset"].dump(), buffer["bytes"].dump(), buffer["first_step"].dump(),
                    buffer["last_step"].dump(), names});
  }
  std::map<std::string, std::pair<int, double>> places;
  for (const json& value : plan["values"]) {
    auto& [count, bytes] = places[value["place"]];
    ++count;
    bytes += value.value("bytes", 0.0);
  }
  if (rows.size() > 1)
    std::cout << "  without sharing, the buffers would take " << ByteText(sum) << "\n" << Columns(rows);
  rows.clear();
  for (const auto& [place, total] : places)
    rows.push_back({place, std::to_string(total.first) + " values", ByteText(total.second)});
  std::cout << Columns(rows) << "\n";
}

void Plan(PlanArguments& arguments, const Common& common) {
  const Session session = Load(arguments.model, arguments.session);
  const std::vector<std::string> assumed = RunOnce(session, arguments.inputs);
  if (arguments.text) {
    std::cout << Text([&](OrtAllocator* allocator, char** text) {
      return Sardonyx().SessionPlanText(session.get(), allocator, text);
    });
    return;
  }
  const json plans = json::parse(Text(
      [&](OrtAllocator* allocator, char** text) { return Sardonyx().SessionPlan(session.get(), allocator, text); }));
  if (common.json) {
    std::cout << plans.dump(2) << "\n";
    return;
  }
  PrintAssumed(assumed);
  for (const json& plan : plans) PrintPlan(plan);
}

}  // namespace

void AddExplainPlacement(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand(
      "explain-placement", "Show which provider runs which node, why, and what is copied between devices");
  command->group("Commands");
  auto arguments = std::make_shared<PlacementArguments>();
  AddModel(*command, arguments->model);
  AddInputs(*command, arguments->inputs);
  command->add_flag("--run", arguments->run, "Run once, and show what was copied in that run");
  AddSession(*command, arguments->session);
  AddJson(*command, common);
  command->footer(
      "Examples:\n"
      "  sardonyx explain-placement model.onnx\n"
      "  sardonyx explain-placement model.onnx --run --dim batch=8\n"
      "  sardonyx explain-placement model.onnx --provider CUDAExecutionProvider --provider CPUExecutionProvider");
  command->callback([arguments, &common] { ExplainPlacement(*arguments, common); });
}

void AddPlan(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("plan", "Run once and show how the run uses its memory");
  command->group("Commands");
  auto arguments = std::make_shared<PlanArguments>();
  AddModel(*command, arguments->model);
  AddInputs(*command, arguments->inputs);
  AddSession(*command, arguments->session);
  AddJson(*command, common);
  command->add_flag("--text", arguments->text, "Print the whole plan with one line for each step, value and buffer")
      ->excludes("--json");
  command->footer(
      "A buffer occupies its part of the arena from its first step to its last. Buffers that are not in use\n"
      "at the same time share memory. Other values have no buffer: they lie in the caller's memory (input,\n"
      "output) or in the model (constant), or get memory of their own during the run (late).\n\n"
      "Examples:\n"
      "  sardonyx plan model.onnx\n"
      "  sardonyx plan model.onnx --text\n"
      "  sardonyx plan model.onnx --dim batch=16 --json");
  command->callback([arguments, &common] { Plan(*arguments, common); });
}

}  // namespace sardonyx::cli
