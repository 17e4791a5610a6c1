// ops/errors/late_errors.h - nodes whose wrong inputs ONNX Runtime finds only when a run reaches them.
//
// A model with such a node loads, and runs unless it reaches the node (a branch of If may never be taken). Inference
// postpones the node: it moves to a domain of its own, where no pass knows it, and its kernel gives the error.
#pragma once

#include <optional>
#include <string_view>

#include "base/error.h"
#include "ir/graph.h"
#include "ops/op_def.h"

namespace sardonyx::ops {

// An error that ONNX Runtime finds in a run.
struct LateError {
  std::optional<Code> code;  // nullopt: that of the operator's other errors in a run
};
// nullopt if ONNX Runtime finds the error when it loads a model. `node` is in the spelling of its author.
std::optional<LateError> FindLateError(const Node& node, const Error& error);

// Before the domain of a postponed node.
inline constexpr std::string_view kPostponedPrefix = "postponed:";
// Makes `node` one that fails with `error` in a run.
void Postpone(Node& node, const Error& error);
bool IsPostponed(const Node& node);
// Whether the attribute `name` holds a postponed node's error and is none of its author.
bool IsOfPostponing(std::string_view name);
// The node as its author wrote it; other nodes stay as they are.
void Restore(Node& node);
// The same for all nodes of a graph, those of bodies included.
void RestorePostponed(Graph& graph);

// The operator of postponed nodes. It infers nothing.
const OpDef& PostponedOperator();
// A kernel that fails with `error`.
Prepared FailingKernel(const Error& error);

}  // namespace sardonyx::ops
