// optimizer/fusion/epilogue.h - finds the sum or activation behind a product or convolution, or the transposition
// before it, that the node can do itself.
#pragma once

#include <optional>

#include "ops/activation.h"
#include "optimizer/rules/pass.h"

namespace sardonyx::optimizer {

// Add(result of the node, other), if nothing else reads the result.
struct Summand {
  NodeId sum = kNoNode;
  ValueId other = kNoValue;
};
std::optional<Summand> SummandBehind(const Graph& graph, const PassContext& context, NodeId node);

// The activation that is all that reads the node's result.
struct ActivationBehind {
  NodeId node = kNoNode;
  ops::NodeActivation activation;
};
std::optional<ActivationBehind> FindActivationBehind(const Graph& graph, const PassContext& context, NodeId node);

// `bias` is added along the last dimension of `y`, [N] or [1, ..., 1, N] of no higher rank.
bool IsBias(const Type& bias, const Type& y);

// The one node that reads `value`, which is no output of the graph; nullptr if there are others or none.
const Node* OnlyReader(const Graph& graph, ValueId value);

// Node `after`, whose input `node` makes, is erased; `node` makes its output.
void Absorb(Graph& graph, NodeId node, NodeId after);

bool SameShape(const Type& a, const Type& b);

// True if a Transpose swaps the last two axes of its input and no others.
bool SwapsLastAxes(const Graph& graph, const Node& transpose);

}  // namespace sardonyx::optimizer
