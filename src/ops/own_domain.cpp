// ops/own_domain.cpp - which fused nodes ONNX Runtime cannot run.
#include "ops/own_domain.h"

#include <algorithm>
#include <span>

namespace sardonyx::ops {
namespace {

// The activations of ONNX Runtime 1.31's operators that ours have, too.
constexpr std::string_view kOfConv[] = {"", "Clip", "HardSigmoid", "HardSwish", "LeakyRelu", "Relu", "Sigmoid", "Tanh"};
constexpr std::string_view kOfGemm[] = {"",        "Elu",      "HardSigmoid", "LeakyRelu", "Relu",           "Selu",
                                        "Sigmoid", "Softplus", "Softsign",    "Tanh",      "ThresholdedRelu"};

bool IsShared(const Node& node) { return node.op_type == "FusedConv" || node.op_type == "FusedGemm"; }

bool IsOneOf(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool RunsElsewhere(const Graph& graph, const Node& node) {
  const AttributeValue* value = node.FindAttribute("activation");
  const auto* activation = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  const std::string_view name = activation != nullptr ? std::string_view(*activation) : std::string_view();
  const bool known = node.op_type == "FusedConv" ? IsOneOf(kOfConv, name) : IsOneOf(kOfGemm, name);
  return known && graph.value(node.outputs[0]).type.dtype == DType::kFloat;
}

}  // namespace

void ToOwnDomain(Graph& graph) {
  for (const NodeId id : graph.order) {
    Node& node = graph.node(id);
    if (node.domain == "com.microsoft" && IsShared(node) && !RunsElsewhere(graph, node)) node.domain = kOwnDomain;
    for (Graph* body : node.Subgraphs()) ToOwnDomain(*body);
  }
}

void FromOwnDomain(Node& node) {
  if (node.domain == kOwnDomain && IsShared(node)) node.domain = "com.microsoft";
}

}  // namespace sardonyx::ops
