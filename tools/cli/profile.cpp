// tools/cli/profile.cpp - `sardonyx profile`: shows where the time of a run goes, as tables and as an HTML page.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.h"
#include "profile_page.h"
#include "profile_report.h"
#include "progress.h"
#include "temporary_folder.h"
#include "terminal.h"

namespace sardonyx::cli {
namespace {

using json = nlohmann::ordered_json;

struct ProfileArguments {
  std::string model;
  InputArguments inputs;
  SessionSettings session;
  std::string html, trace;
  int runs = 10;
  int warmup = 3;
  std::size_t nodes = 20;
};

std::string Fixed(double value, int digits) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

std::vector<std::string> Figures(const ProfileRow& row, double total) {
  const double ms = row.milliseconds;
  return {Fixed(ms, 3),
          Fixed(total > 0 ? 100 * ms / total : 0, 1) + " %",
          row.flops > 0 && ms > 0 ? Fixed(row.flops / ms / 1e6, 1) : "",
          row.bytes > 0 && ms > 0 ? Fixed(row.bytes / ms / 1e6, 1) : "",
          row.ceiling_share > 0 ? Fixed(100 * row.ceiling_share, 0) + " %" : "",
          std::to_string(row.threads)};
}

void Append(std::vector<std::string>& row, std::vector<std::string> more) {
  for (std::string& text : more) row.push_back(std::move(text));
}

void PrintReport(const ProfileReport& report, std::size_t most) {
  std::cout << Heading("Where the time goes") << "  " << Fixed(report.milliseconds, 3) << " ms per run (median of "
            << report.runs << "), " << Fixed(report.nodes_milliseconds, 3)
            << " ms of that in nodes; threads: " << report.threads
            << "\n  ceiling of this machine: " << Fixed(report.flops_per_second / 1e9, 0) << " GFLOP/s, "
            << Fixed(report.bytes_per_second / 1e9, 1) << " GB/s\n\n";
  std::vector<std::vector<std::string>> rows = {
      {"operator", "nodes", "ms", "time", "GFLOP/s", "GB/s", "of ceiling", "threads"}};
  for (const ProfileRow& row : report.operators) {
    rows.push_back({row.op_type, std::to_string(row.nodes)});
    Append(rows.back(), Figures(row, report.nodes_milliseconds));
  }
  std::cout << Heading("By operator") << Columns(rows) << "\n";
  if (most == 0) return;
  rows = {{"node", "operator", "result", "ms", "time", "GFLOP/s", "GB/s", "of ceiling", "threads"}};
  for (const ProfileRow& row : report.nodes) {
    if (rows.size() > most) break;
    rows.push_back(
        {(row.graph.empty() ? "" : row.graph + ": ") + ShownName(row.node, row.value), row.op_type, row.shape});
    Append(rows.back(), Figures(row, report.nodes_milliseconds));
  }
  std::cout << Heading(report.nodes.size() > most ? "By node, the longest " + std::to_string(most) : "By node")
            << Columns(rows);
}

json RowJson(const ProfileRow& row, bool node) {
  json answer;
  if (node)
    answer = {
        {"node", row.node}, {"value", row.value}, {"graph", row.graph}, {"step", row.step}, {"result", row.shape}};
  answer.update({{"op_type", row.op_type},
                 {"nodes", row.nodes},
                 {"turns", row.turns},
                 {"ms", row.milliseconds},
                 {"flops", row.flops},
                 {"bytes", row.bytes},
                 {"ceiling_share", row.ceiling_share},
                 {"threads", row.threads}});
  return answer;
}

void PrintJson(const ProfileArguments& arguments, const ProfileReport& report) {
  json answer = {
      {"model", arguments.model},
      {"runs", report.runs},
      {"ms", report.milliseconds},
      {"nodes_ms", report.nodes_milliseconds},
      {"threads", report.threads},
      {"ceiling", {{"flops_per_second", report.flops_per_second}, {"bytes_per_second", report.bytes_per_second}}},
      {"operators", json::array()},
      {"nodes", json::array()}};
  for (const ProfileRow& row : report.operators) answer["operators"].push_back(RowJson(row, false));
  for (const ProfileRow& row : report.nodes) answer["nodes"].push_back(RowJson(row, true));
  std::cout << answer.dump(2, ' ', false, json::error_handler_t::replace) << "\n";
}

void ProfileModel(ProfileArguments& arguments, const Common& common) {
  const TemporaryFolder folder;
  arguments.session.profile_prefix = (folder.path() / "profile").string();
  Session session = Load(arguments.model, arguments.session);
  std::vector<std::string> assumed;
  const std::vector<Input> inputs = MakeInputs(session.inputs(), arguments.inputs, assumed);
  std::vector<Handle<OrtValue>> values;
  for (const Input& input : inputs) values.push_back(ToValue(input.tensor));
  std::vector<std::string> names;
  for (const ValueDescription& output : session.outputs()) names.push_back(output.name);
  {
    Progress progress("running");
    const int count = arguments.warmup + arguments.runs;
    for (int i = 0; i < count; ++i) {
      progress.Done(static_cast<double>(i) / count);
      session.Run(values, names);
    }
  }
  const std::string text = ReadFile(session.EndProfiling());
  const ProfileReport report = ReadProfile(nlohmann::json::parse(text), static_cast<std::size_t>(arguments.warmup));
  if (!arguments.trace.empty()) WriteFile(arguments.trace, text);
  if (!arguments.html.empty())
    WriteFile(arguments.html,
              ProfilePage(arguments.model, report, nlohmann::json::parse(Text([&](OrtAllocator* a, char** out) {
                            return Sardonyx().SessionPlan(session.get(), a, out);
                          }))));
  if (common.json) return PrintJson(arguments, report);
  for (const std::string& name : assumed) {
    std::cout << Styled(Style::kDim, "  the model leaves " + name + " open: 1 is assumed (see --dim and --shape)")
              << "\n";
  }
  PrintReport(report, arguments.nodes);
  for (const std::string& file : {arguments.trace, arguments.html})
    if (!file.empty()) std::cout << "wrote " << Styled(Style::kBold, file) << "\n";
}

}  // namespace

void AddProfile(CLI::App& app, Common& common) {
  CLI::App* command = app.add_subcommand("profile", "Show where the time of a run goes, node by node");
  command->group("Commands");
  auto arguments = std::make_shared<ProfileArguments>();
  AddModel(*command, arguments->model);
  AddInputs(*command, arguments->inputs);
  command
      ->add_option("--html", arguments->html,
                   "Write a page for a browser: the graph coloured by time, tables, memory over time")
      ->option_text("FILE");
  command->add_option("--trace", arguments->trace, "Save the trace for https://ui.perfetto.dev or chrome://tracing")
      ->option_text("FILE");
  command->add_option("--runs", arguments->runs, "Show the median of this many runs (default: 10)")
      ->option_text("NUMBER")
      ->check(CLI::Range(1, 100000));
  command->add_option("--warmup", arguments->warmup, "First run this many times without measuring (default: 3)")
      ->option_text("NUMBER")
      ->check(CLI::Range(0, 100000));
  command->add_option("--nodes", arguments->nodes, "Show the slowest nodes, this many; 0 shows none (default: 20)")
      ->option_text("NUMBER");
  AddSession(*command, arguments->session);
  AddJson(*command, common);
  command->footer(
      "\"of ceiling\" is the time that a perfect kernel would take on this machine for the node's arithmetic\n"
      "and memory traffic, divided by the time that the node took. GFLOP/s count the arithmetic that the\n"
      "operator defines; a kernel that needs less (Winograd) can show more than the machine can do.\n\n"
      "Examples:\n"
      "  sardonyx profile model.onnx\n"
      "  sardonyx profile model.onnx --dim batch=8 --threads 1 --html profile.html\n"
      "  sardonyx profile model.onnx --level none --nodes 0\n"
      "  sardonyx profile model.onnx --trace trace.json");
  command->callback([arguments, &common] { ProfileModel(*arguments, common); });
}

}  // namespace sardonyx::cli
