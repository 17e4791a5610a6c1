// tools/cli/profile_report.h - a profile of several runs as rows: what each node and each operator costs per run.
#ifndef SARDONYX_TOOLS_CLI_PROFILE_REPORT_H
#define SARDONYX_TOOLS_CLI_PROFILE_REPORT_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sardonyx::cli {

// Of one run, the median of all runs; a node in a body of control flow with all its turns together.
struct ProfileRow {
  std::string graph;  // the body that the node is in; "" for the model's own graph
  std::string node, op_type, provider;
  std::string value;        // its first output
  int step = 0;             // place in the order of its graph
  std::string shape;        // of its outputs: "float[1,3,224,224]"
  std::int64_t nodes = 1;   // of an operator's row
  std::int64_t turns = 0;   // how often a run came there
  double milliseconds = 0;  // without the time of bodies
  double flops = 0, bytes = 0;
  double ceiling_share = 0;  // of the machine: 1 is as fast as can be; 0 where there is no number
  std::int64_t threads = 1;
};

// Bytes of activations: of the arenas those that are alive, and all whose shapes came with the run so far.
struct MemoryMoment {
  double planned = 0, late = 0;
};

struct ProfileReport {
  std::int64_t runs = 0;
  double milliseconds = 0;        // of a run, the median
  double nodes_milliseconds = 0;  // of it in nodes
  std::int64_t threads = 1;
  double flops_per_second = 0;               // that the machine can do
  double bytes_per_second = 0;               // that its memory can move
  std::vector<ProfileRow> nodes, operators;  // the longest first
  std::vector<MemoryMoment> memory;          // after each step of the graph
};

// From a trace as SessionEndProfiling writes it, without its first `warmup` runs.
ProfileReport ReadProfile(const nlohmann::json& trace, std::size_t warmup);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_PROFILE_REPORT_H
