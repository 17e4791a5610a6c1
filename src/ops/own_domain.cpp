// ops/own_domain.cpp - which fused nodes ONNX Runtime cannot run.
#include "ops/own_domain.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace sardonyx::ops {
namespace {

// The activations of ONNX Runtime 1.31's operators that ours have, too.
constexpr std::string_view kOfConv[] = {"", "Clip", "HardSigmoid", "HardSwish", "LeakyRelu", "Relu", "Sigmoid", "Tanh"};
constexpr std::string_view kOfGemm[] = {"",        "Elu",      "HardSigmoid", "LeakyRelu", "Relu",           "Selu",
                                        "Sigmoid", "Softplus", "Softsign",    "Tanh",      "ThresholdedRelu"};

constexpr OwnInputs kOwnInputs[] = {
    {"FusedElementwise", 1, 12},
    {"FusedMatMul", 2, 4, 1u << 2 | 1u << 3},
    {"Lookup8", 2, 2},
    {"QLinearConvAdd", 13, 14, 1u << 8 | 1u << 11 | 1u << 13},
};

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

const OwnInputs* OwnInputs::Of(std::string_view op_type) {
  const auto* found = std::find_if(std::begin(kOwnInputs), std::end(kOwnInputs),
                                   [&](const OwnInputs& x) { return x.op_type == op_type; });
  return found == std::end(kOwnInputs) ? nullptr : found;
}

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
