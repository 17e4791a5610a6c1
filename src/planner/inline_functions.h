// planner/inline_functions.h - replaces calls of functions by their bodies.
#pragma once

#include "ir/graph.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace sardonyx::planner {

struct InlineLimits {
  int depth = 64;                 // of nested calls; ends a function that calls itself
  std::size_t nodes = 1'000'000;  // of the expanded graph
  std::size_t bytes = SIZE_MAX;   // of names and constants in what calls are replaced by
  bool nested = true;             // false: calls that the bodies of functions contain stay
};

// Replaces each call of one of the model's functions, and each ONNX function operator without a kernel in `registry`,
// by the nodes of its body; calls that a provider claims (node.provider set) stay. Versions are resolved first, so
// every new node has its since_version, whatever opsets its function imports. Fails naming the call if the limits are
// exceeded: with kInvalidGraph for the depth, with kFail for the size. Returns whether there was a call to replace.
bool InlineFunctions(Graph& graph, const Model& model, const ops::Registry& registry, const InlineLimits& limits = {});

// Sets the types and shape data of all values, calls of functions included: their results have the types that the
// bodies give them.
void InferThroughCalls(Graph& graph, const Model& model, const ops::Registry& registry,
                       const ops::InferOptions& options);

}  // namespace sardonyx::planner
