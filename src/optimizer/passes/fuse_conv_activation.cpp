// optimizer/passes/fuse_conv_activation.cpp - Conv, a sum with a value of its shape and an activation become one
// com.microsoft FusedConv: activation(conv(X, W) + B + Z), ONNX Runtime's operator and semantics.
#include "ops/schema.h"
#include "optimizer/fused_activation.h"
#include "optimizer/passes.h"

namespace sardonyx::optimizer {
namespace {

void MakeFused(Node& conv) {
  conv.domain = "com.microsoft";
  conv.op_type = "FusedConv";
  conv.since_version = ops::FindSchema("com.microsoft", "FusedConv")->since_version;
}

// conv + z, both of one shape: z becomes the Conv's fourth input.
bool FuseSum(Graph& graph, NodeId conv_id) {
  const Node& conv = graph.node(conv_id);
  const ValueId made = conv.outputs[0];
  const Node* sum = OnlyReader(graph, made);
  if (sum == nullptr || !sum->domain.empty() || sum->op_type != "Add" || sum->provider != conv.provider) return false;
  const ValueId other = sum->inputs[sum->inputs[0] == made ? 1 : 0];
  if (other == made || !SameShape(graph.value(made).type, graph.value(other).type)) return false;
  const NodeId sum_id = sum->id;
  Node& node = graph.node(conv_id);
  while (node.inputs.size() < 3) graph.SetInput(conv_id, node.inputs.size(), kNoValue);
  graph.SetInput(conv_id, 3, other);
  MakeFused(node);
  Absorb(graph, conv_id, sum_id);
  return true;
}

bool FuseActivation(Graph& graph, NodeId conv_id) {
  const Node& conv = graph.node(conv_id);
  const Node* reader = OnlyReader(graph, conv.outputs[0]);
  if (reader == nullptr || reader->provider != conv.provider) return false;
  if (reader->inputs.empty() || reader->inputs[0] != conv.outputs[0]) return false;
  const auto activation = ActivationOf(graph, *reader);
  if (!activation || activation->bias != kNoValue) return false;
  const NodeId reader_id = reader->id;
  Node& node = graph.node(conv_id);
  node.SetAttribute("activation", activation->name);
  if (activation->alpha)
    node.SetAttribute("activation_params", std::vector<float>{*activation->alpha, activation->beta.value_or(0.0f)});
  MakeFused(node);
  Absorb(graph, conv_id, reader_id);
  return true;
}

bool Fuses(const Graph& graph, const Node& node) {
  const bool plain = node.domain.empty() && node.op_type == "Conv";
  const bool fused = node.domain == "com.microsoft" && node.op_type == "FusedConv";
  if (!plain && !fused) return false;
  if (node.FindAttribute("activation") != nullptr) return false;
  const DType dtype = graph.value(node.inputs[0]).type.dtype;
  const ops::OpSchema* schema = ops::FindSchema("com.microsoft", "FusedConv");
  return dtype != DType::kDouble && schema->Input(0)->types().Contains(dtype);
}

bool FuseIn(Graph& graph) {
  bool changed = false, summed = false;
  for (const NodeId id : std::vector<NodeId>(graph.order)) {
    if (graph.node(id).erased) continue;
    bool body_changed = false;
    for (Graph* body : graph.node(id).Subgraphs()) body_changed |= FuseIn(*body);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
    if (!Fuses(graph, graph.node(id))) continue;
    if (graph.node(id).inputs.size() < 4) summed |= FuseSum(graph, id);
    changed |= FuseActivation(graph, id);
  }
  if (summed) graph.SortTopologically();  // the summand may be made behind the Conv
  return changed || summed;
}

bool FuseConvActivation(Graph& graph, PassContext& /*context*/) { return FuseIn(graph); }

}  // namespace

constinit const Pass kFuseConvActivation = {
    .name = "fuse_conv_activation", .level = Level::kExtended, .run = FuseConvActivation};

}  // namespace sardonyx::optimizer
