// optimizer/fusion/epilogue.h - the sum or activation behind a product or convolution that the node can do itself.
#pragma once

#include "optimizer/fusion/fused_activation.h"
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
  FusedActivation activation;
};
std::optional<ActivationBehind> FindActivationBehind(const Graph& graph, const PassContext& context, NodeId node);

// `bias` is added along the last dimension of `y`, [N] or [1, ..., 1, N] of no higher rank.
bool IsBias(const Type& bias, const Type& y);

}  // namespace sardonyx::optimizer
