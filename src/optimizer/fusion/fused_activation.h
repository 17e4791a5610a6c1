// optimizer/fusion/fused_activation.h - which node is an activation that a product or convolution can apply itself.
//
// To fuse one more: its row in ActivationOf, its name in kActivations (ops/conv_attributes.cpp).
#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"

namespace sardonyx::optimizer {

// The value of the attribute `activation` and its parameters. BiasGelu and FastGelu add a bias before: `bias`.
struct FusedActivation {
  std::string name;
  std::optional<float> alpha = {}, beta = {}, gamma = {};
  ValueId bias = kNoValue;
};

// nullopt if `node` is no activation or one that is not fused. Its input 0 is what the activation is applied to.
std::optional<FusedActivation> ActivationOf(const Graph& graph, const Node& node);

// The one element of a floating constant; nullopt if `value` is anything else.
std::optional<float> ScalarConstant(const Graph& graph, ValueId value);

// The one node that reads `value`, which is no output of the graph; nullptr if there are others or none.
const Node* OnlyReader(const Graph& graph, ValueId value);

// Node `after`, whose input `node` makes, is erased; `node` makes its output.
void Absorb(Graph& graph, NodeId node, NodeId after);

bool SameShape(const Type& a, const Type& b);

}  // namespace sardonyx::optimizer
