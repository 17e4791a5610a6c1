// ops/own_domain.cpp - which fused nodes ONNX Runtime cannot run.
#include "ops/own_domain.h"

#include <string>
#include <string_view>

#include "ops/activation.h"

namespace sardonyx::ops {
namespace {

bool IsShared(const Node& node) { return node.op_type == "FusedConv" || node.op_type == "FusedGemm"; }

bool RunsElsewhere(const Graph& graph, const Node& node) {
  if (graph.value(node.outputs[0]).type.dtype != DType::kFloat) return false;
  const AttributeValue* value = node.FindAttribute("activation");
  const auto* name = value != nullptr ? std::get_if<std::string>(value) : nullptr;
  if (name == nullptr || name->empty()) return true;
  const ActivationDef* activation = FindActivation(*name);
  if (activation == nullptr) return false;
  return node.op_type == "FusedConv" ? activation->conv_of_ort : activation->gemm_of_ort;
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
