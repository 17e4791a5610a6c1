// tools/cli/profile_report.h - a profile of several runs as rows: the cost of each node and operator in one run.
#ifndef SARDONYX_TOOLS_CLI_PROFILE_REPORT_H
#define SARDONYX_TOOLS_CLI_PROFILE_REPORT_H

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace sardonyx::cli {

// The figures of one run (the median of all runs). For a node in a body of control flow, all turns are added up.
struct ProfileRow {
  std::string graph;  // the body that the node is in; "" for the model's own graph
  std::string node, op_type, provider;
  std::string value;        // its first output
  int step = 0;             // its position in the order of its graph
  std::string shape;        // of its outputs: "float[1,3,224,224]"
  std::int64_t nodes = 1;   // in the row of an operator: its number of nodes
  std::int64_t turns = 0;   // how often a run computed it
  double milliseconds = 0;  // without the bodies of control flow
  double flops = 0, bytes = 0;
  double ceiling_share = 0;  // 1 is as fast as the machine can be; 0 if it is unknown
  std::int64_t threads = 1;
};

// Bytes of activations: those alive in the arenas, and all so far whose shapes became known during the run.
struct MemoryMoment {
  double planned = 0, late = 0;
};

struct ProfileReport {
  std::int64_t runs = 0;
  double milliseconds = 0;        // of a run; the median
  double nodes_milliseconds = 0;  // the part of them in nodes
  std::int64_t threads = 1;
  double flops_per_second = 0;               // the peak of the machine
  double bytes_per_second = 0;               // the peak of its memory
  std::vector<ProfileRow> nodes, operators;  // the slowest first
  std::vector<MemoryMoment> memory;          // after each step of the graph
};

// Reads a trace that SessionEndProfiling has written; leaves out its first `warmup` runs.
ProfileReport ReadProfile(const nlohmann::json& trace, std::size_t warmup);

}  // namespace sardonyx::cli

#endif  // SARDONYX_TOOLS_CLI_PROFILE_REPORT_H
