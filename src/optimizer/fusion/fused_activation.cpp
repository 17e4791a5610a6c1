// optimizer/fusion/fused_activation.cpp - which node is an activation that a product or convolution can apply itself.
#include "optimizer/fusion/fused_activation.h"

#include <limits>

namespace sardonyx::optimizer {
namespace {

float FloatAttribute(const Node& node, std::string_view name, float otherwise) {
  const AttributeValue* value = node.FindAttribute(name);
  return value != nullptr && std::holds_alternative<float>(*value) ? std::get<float>(*value) : otherwise;
}

bool IsTanhForm(const Node& gelu) {
  const AttributeValue* value = gelu.FindAttribute("approximate");
  return value != nullptr && std::holds_alternative<std::string>(*value) && std::get<std::string>(*value) == "tanh";
}

// The bound of a Clip, which must be constant; `otherwise` if it is missing.
std::optional<float> Bound(const Graph& graph, const Node& clip, std::size_t i, float otherwise) {
  if (i >= clip.inputs.size() || clip.inputs[i] == kNoValue) return otherwise;
  return ScalarConstant(graph, clip.inputs[i]);
}

std::optional<FusedActivation> MicrosoftActivation(const Node& node) {
  const std::string& name = node.op_type;
  const ValueId bias = node.inputs.size() > 1 ? node.inputs[1] : kNoValue;
  if (name == "Gelu") return FusedActivation{"Gelu"};
  if (name == "BiasGelu") return FusedActivation{.name = "Gelu", .bias = bias};
  if (name == "FastGelu") return FusedActivation{.name = "GeluTanh", .bias = bias};
  if (name == "QuickGelu") return FusedActivation{"QuickGelu", FloatAttribute(node, "alpha", 1.702f)};
  return std::nullopt;
}

}  // namespace

std::optional<float> ScalarConstant(const Graph& graph, ValueId value) {
  const Tensor* constant = graph.value(value).constant();
  if (constant == nullptr || constant->count() != 1) return std::nullopt;
  std::optional<float> scalar;
  VisitDType<float, Half, BFloat16>(constant->dtype(),
                                    [&]<typename T>() { scalar = static_cast<float>(*constant->data<T>()); });
  return scalar;
}

std::optional<FusedActivation> ActivationOf(const Graph& graph, const Node& node) {
  if (node.domain == "com.microsoft") return MicrosoftActivation(node);
  if (!node.domain.empty()) return std::nullopt;
  const std::string& name = node.op_type;
  for (const char* const plain : {"Relu", "Sigmoid", "Tanh", "HardSwish", "Softplus", "Softsign"})
    if (name == plain) return FusedActivation{name};
  if (name == "Elu" || name == "ThresholdedRelu") return FusedActivation{name, FloatAttribute(node, "alpha", 1)};
  if (name == "Selu")
    return FusedActivation{.name = name,
                           .alpha = FloatAttribute(node, "alpha", 1.67326319217681884765625f),
                           .gamma = FloatAttribute(node, "gamma", 1.05070102214813232421875f)};
  if (name == "LeakyRelu") return FusedActivation{name, FloatAttribute(node, "alpha", 0.01f)};
  if (name == "HardSigmoid")
    return FusedActivation{name, FloatAttribute(node, "alpha", 0.2f), FloatAttribute(node, "beta", 0.5f)};
  if (name == "Swish") {
    const float alpha = FloatAttribute(node, "alpha", 1);
    return alpha == 1 ? FusedActivation{"Silu"} : FusedActivation{"QuickGelu", alpha};
  }
  if (name == "Gelu") return FusedActivation{IsTanhForm(node) ? "GeluTanh" : "Gelu"};
  if (name == "Clip") {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const auto low = Bound(graph, node, 1, -kInfinity), high = Bound(graph, node, 2, kInfinity);
    if (low && high && *low <= *high) return FusedActivation{name, *low, *high};
  }
  return std::nullopt;
}

const Node* OnlyReader(const Graph& graph, ValueId value) {
  const ValueInfo& info = graph.value(value);
  return !info.is_output && info.consumers.size() == 1 ? &graph.node(info.consumers[0]) : nullptr;
}

void Absorb(Graph& graph, NodeId node, NodeId after) {
  const ValueId output = graph.node(after).outputs[0];
  graph.EraseNode(after);
  graph.MoveOutput(node, 0, output);
}

bool SameShape(const Type& a, const Type& b) {
  if (a.dtype != b.dtype || !a.has_rank || !b.has_rank || a.rank() != b.rank()) return false;
  for (std::size_t i = 0; i < a.rank(); ++i)
    if (!SameDim(a.dims[i], b.dims[i])) return false;
  return true;
}

}  // namespace sardonyx::optimizer
