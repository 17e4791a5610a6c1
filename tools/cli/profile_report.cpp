// tools/cli/profile_report.cpp - sums up the events of a trace by node and by operator.
#include "profile_report.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sardonyx::cli {
namespace {

using nlohmann::json;

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A node in all runs.
struct NodeTimes {
  ProfileRow row;
  std::vector<double> microseconds;  // by run
  double ceiling_microseconds = 0;   // what a perfect kernel would take, all runs together
};

std::string ShapeText(const json& types) {
  std::string text;
  for (const json& entry : types) {
    for (const auto& [type, shape] : entry.items()) {
      text += (text.empty() ? "" : ", ") + type + "[";
      for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + shape[i].dump();
      text += "]";
    }
  }
  return text;
}

using Key = std::tuple<std::string, int>;

void AddEvent(const json& event, std::size_t run, std::map<Key, NodeTimes>& nodes) {
  const json& arguments = event["args"];
  const std::string graph = arguments.value("graph", "");
  const int step = std::stoi(arguments.value("node_index", "0"));
  NodeTimes& times = nodes[{graph, step}];
  if (times.microseconds.size() <= run) times.microseconds.resize(run + 1, 0);
  ProfileRow& row = times.row;
  row.graph = graph;
  row.step = step;
  row.node = arguments.value("node", "");
  const json outputs = arguments.value("outputs", json::array());
  row.value = outputs.empty() ? "" : outputs[0].get<std::string>();
  row.op_type = arguments.value("op_name", "");
  row.provider = arguments.value("provider", "");
  row.shape = ShapeText(arguments.value("output_type_shape", json::array()));
  ++row.turns;
  const double microseconds = arguments.value("self_dur", 0.0);
  times.microseconds[run] += microseconds;
  row.flops += arguments.value("flops", 0.0);
  row.bytes += arguments.value("bytes", 0.0);
  row.threads = std::max(row.threads, arguments.value("threads", std::int64_t{1}));
  times.ceiling_microseconds += arguments.value("ceiling_share", 0.0) * microseconds;
}

void Finish(NodeTimes& times, std::int64_t runs) {
  ProfileRow& row = times.row;
  times.microseconds.resize(static_cast<std::size_t>(runs), 0);
  double all = 0;
  for (const double microseconds : times.microseconds) all += microseconds;
  row.milliseconds = Median(times.microseconds) / 1e3;
  row.ceiling_share = all > 0 ? times.ceiling_microseconds / all : 0;
  const auto count = static_cast<double>(runs);
  row.flops /= count;
  row.bytes /= count;
  row.turns = (row.turns + runs - 1) / runs;
}

std::vector<ProfileRow> Operators(const std::vector<ProfileRow>& nodes) {
  std::map<std::string, ProfileRow> rows;
  for (const ProfileRow& node : nodes) {
    ProfileRow& row = rows[node.op_type];
    if (row.op_type.empty()) row.nodes = 0;
    row.op_type = node.op_type;
    ++row.nodes;
    row.turns += node.turns;
    row.milliseconds += node.milliseconds;
    row.flops += node.flops;
    row.bytes += node.bytes;
    row.ceiling_share += node.ceiling_share * node.milliseconds;
    row.threads = std::max(row.threads, node.threads);
  }
  std::vector<ProfileRow> list;
  for (auto& [name, row] : rows) {
    if (row.milliseconds > 0) row.ceiling_share /= row.milliseconds;
    list.push_back(std::move(row));
  }
  return list;
}

void SortByTime(std::vector<ProfileRow>& rows) {
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.milliseconds > b.milliseconds; });
}

}  // namespace

ProfileReport ReadProfile(const json& trace, std::size_t warmup) {
  ProfileReport report;
  std::map<Key, NodeTimes> nodes;
  std::vector<double> runs;
  std::size_t run = 0;         // the event of a run comes after those of its nodes
  double begin = 0, end = -1;  // of the first run that counts; events of memory come behind all runs
  for (const json& event : trace) {
    const std::string category = event.value("cat", "");
    if (category == "Machine") {
      report.threads = event["args"].value("threads", std::int64_t{1});
      report.flops_per_second = event["args"].value("float_operations_per_second", 0.0);
      const json streams = event["args"].value("streams", json::array());
      if (!streams.empty()) report.bytes_per_second = streams.back().value("bytes_per_second", 0.0);
    } else if (category == "Session" && event.value("name", "") == "model_run") {
      if (run++ < warmup) continue;
      runs.push_back(event.value("dur", 0.0));
      if (runs.size() > 1) continue;
      begin = event.value("ts", 0.0);
      end = begin + runs[0];
    } else if (run >= warmup && category == "Node") {
      AddEvent(event, run - warmup, nodes);
    } else if (category == "Memory" && begin <= event.value("ts", 0.0) && event.value("ts", 0.0) <= end) {
      report.memory.push_back({event["args"].value("bytes", 0.0), event["args"].value("late_bytes", 0.0)});
    }
  }
  report.runs = static_cast<std::int64_t>(runs.size());
  report.milliseconds = Median(runs) / 1e3;
  if (report.runs == 0) return report;
  for (auto& [key, times] : nodes) {
    Finish(times, report.runs);
    report.nodes_milliseconds += times.row.milliseconds;
    report.nodes.push_back(times.row);
  }
  report.operators = Operators(report.nodes);
  SortByTime(report.nodes);
  SortByTime(report.operators);
  return report;
}

}  // namespace sardonyx::cli
