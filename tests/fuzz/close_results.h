// tests/fuzz/close_results.h - whether two results of a random graph differ by more than rounding.
#pragma once

#include <string>
#include <vector>

#include "fuzz/close_tensors.h"
#include "fuzz/random_graph.h"

namespace sardonyx::fuzz {

// Compares results with those computed node by node. What roundings may do to an output it finds out by disturbing
// every value of the graph a little, and looking at what becomes of it (noisy_run.h, oracle_exceptions.h).
class CloseResults {
 public:
  CloseResults(const RandomGraph& graph, const ops::Registry& registry) : graph_(graph), registry_(registry) {}

  // What is wrong with output k; "" if nothing is.
  std::string Compare(std::size_t k, const Value& got);

 private:
  const RandomGraph& graph_;
  const ops::Registry& registry_;
  std::vector<std::vector<Value>> noisy_;  // results of disturbed graphs, as many as were needed so far
};

}  // namespace sardonyx::fuzz
