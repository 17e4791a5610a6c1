// planner/foreign_steps.h - steps that no operator's row describes: fused groups, copies, and operators that only a
// provider knows.
#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"
#include "ops/op_def.h"
#include "ops/registry.h"
#include "providers/provider.h"

namespace sardonyx::planner {

// A fused group: its types follow from the graph in its attribute "body".
const ops::OpDef& FusedGroup();
// An operator without a row (a function call that a provider claimed whole): its kernel determines types and shapes.
const ops::OpDef& ForeignOperator();
// A copy between the host and the device of the node's provider (planner/copy_nodes.h).
const ops::OpDef& DeviceCopy();
bool IsCopy(const Node& node);

// Whether the executor runs the node's bodies: control flow of the CPU, or of a provider that leaves it to the
// executor.
bool IsControlFlow(const Node& node);

// The operator by which a node runs: one of these, or the registry's.
const ops::OpDef& OperatorOf(const Node& node, const ops::Registry& registry, const providers::ProviderSet& providers);

// Types of a fused group's outputs from those of its inputs.
std::vector<Type> InferGroup(const Graph& body, const ops::Registry& registry, std::span<const Type> inputs);

}  // namespace sardonyx::planner
