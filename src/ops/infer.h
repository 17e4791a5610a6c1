// ops/infer.h - infers the types and shapes of a whole graph.
#pragma once

#include "base/logging.h"
#include "ir/function_index.h"
#include "ir/graph.h"
#include "ops/infer_context.h"
#include "ops/registry.h"

namespace sardonyx::ops {

struct InferOptions {
  const Logger* logger = nullptr;
  bool postpones = true;  // errors that a run is to give (ops/errors/late_errors.h)
  bool strict = false;    // a declared shape that contradicts the inferred one is an error, not a warning
};

// Resolves since_version of every node from the opset imports and checks each node against its schema: known operator
// (suggesting the closest name), input and output counts, attribute names and types, required ones. Fails with
// kInvalidGraph, or kNotImplemented for operators of a known domain that have no schema. Subgraphs too. Calls of
// functions are left alone; so are unknown operators, or all but those of ONNX's own domain, if `unknown` says so:
// nothing follows for the types of their outputs then.
enum class UnknownOperators { kRefused, kLeftAlone, kAllButStandard };
void ResolveVersions(Graph& graph, const Registry& registry, const FunctionIndex& functions,
                     UnknownOperators unknown = UnknownOperators::kRefused);

// Sets the types and shape data of all values in order; subgraphs too. Unknown stays unknown.
void Infer(Graph& graph, const Registry& registry, const InferOptions& options = {});

// One node of the graph, after its inputs' types are known.
void InferAt(Graph& graph, NodeId node, const Registry& registry, const InferOptions& options = {});

// One node, from given knowledge of its inputs (used by the planner with numbers). The node must be in its newest
// spelling. Errors do not name it.
// Fails for inputs and outputs beyond kMostDimensions, which no interface and few kernels hold.
inline constexpr std::size_t kMostDimensions = 64;
void InferNode(const Graph& graph, const Node& node, const OpDef& op, std::span<const InferContext::Known> inputs,
               std::span<InferContext::Output> outputs, const InferContext::SubgraphFn* subgraph);

}  // namespace sardonyx::ops
