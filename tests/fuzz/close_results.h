// tests/fuzz/close_results.h - whether two results of a random graph differ by more than rounding.
#pragma once

#include <string>
#include <vector>

#include "fuzz/random_graph.h"

namespace sardonyx::fuzz {

bool SameBits(const Tensor& a, const Tensor& b);

// Compares results with those computed node by node. How far roundings may move an output it finds out by disturbing
// every value of the graph a little, and looking at what becomes of it.
class CloseResults {
 public:
  CloseResults(const RandomGraph& graph, const ops::Registry& registry) : graph_(graph), registry_(registry) {}

  // What is wrong with output k; "" if nothing is.
  std::string Compare(std::size_t k, const Value& got);

 private:
  // The elements that differ by more than rounding; `noisy`: results with noise.
  std::string Difference(std::size_t k, const Tensor& got, const std::vector<const Tensor*>& noisy) const;

  const RandomGraph& graph_;
  const ops::Registry& registry_;
  std::vector<std::vector<Value>> noisy_;  // results of disturbed graphs, as many as were needed so far
};

}  // namespace sardonyx::fuzz
