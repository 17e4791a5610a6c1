// ops/evaluate.h - computes one node, or a graph node by node: infers, prepares and runs each at once. For folding and
// tests.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "ir/graph.h"
#include "ops/registry.h"

namespace sardonyx::ops {

// Runs a body for control-flow nodes: `graph` with its explicit inputs, captured values by their outer id.
struct EvaluateOptions {
  Parallel* parallel = nullptr;  // null: serial
  // The value of a captured outer ValueId, for subgraphs; only needed if the node has any.
  std::function<Value(ValueId outer)> captured;
  std::size_t max_output_bytes = SIZE_MAX;  // kInvalidArgument beyond
};

// Outputs of `node` (any version; it is upgraded on the fly) from the values of its inputs; Value() for missing ones
// and for outputs that the node does not have. Errors name the node.
std::vector<Value> EvaluateNode(const Graph& graph, const Node& node, const Registry& registry,
                                std::span<const Value> inputs, const EvaluateOptions& options = {});

// A whole graph node by node; `inputs` in the order of graph.inputs. The reference the tests compare with.
std::vector<Value> EvaluateGraph(const Graph& graph, const Registry& registry, std::span<const Value> inputs,
                                 const EvaluateOptions& options = {});

}  // namespace sardonyx::ops
