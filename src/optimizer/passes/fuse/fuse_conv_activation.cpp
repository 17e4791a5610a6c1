// optimizer/passes/fuse/fuse_conv_activation.cpp - Conv, the addition of a value of its result's shape, and an
// activation become one com.microsoft FusedConv: activation(conv(X, W) + B + Z), ONNX Runtime's operator and semantics.

#include "ops/schema/schema.h"
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

void MakeFused(Node& conv) {
  conv.domain = "com.microsoft";
  conv.op_type = "FusedConv";
  conv.since_version = ops::FindSchema("com.microsoft", "FusedConv")->since_version;
}

// conv + z, both of one shape: z becomes the Conv's fourth input.
bool FuseSum(Graph& graph, const PassContext& context, NodeId conv_id) {
  const auto summand = SummandBehind(graph, context, conv_id);
  if (!summand) return false;
  const Type &y = graph.value(graph.node(conv_id).outputs[0]).type, &z = graph.value(summand->other).type;
  if (y.dtype != z.dtype || !SameDims(y, z))
    return context.No(graph, summand->sum, "expected summands of one shape, found ", y.ToText(), " and ", z.ToText());
  while (graph.node(conv_id).inputs.size() < 3) graph.SetInput(conv_id, graph.node(conv_id).inputs.size(), kNoValue);
  graph.SetInput(conv_id, 3, summand->other);
  MakeFused(graph.node(conv_id));
  Absorb(graph, conv_id, summand->sum);
  return context.Yes(graph, conv_id, "adds the summand");
}

bool FuseActivation(Graph& graph, const PassContext& context, NodeId conv_id) {
  const auto behind = FindActivationBehind(graph, context, conv_id);
  if (!behind) return false;
  const ops::NodeActivation& activation = behind->activation;
  if (activation.bias != kNoValue) return context.No(graph, conv_id, "the activation adds a bias of its own");
  if (!activation.def->in_convs)
    return context.No(graph, conv_id, activation.def->name, " is fused into products only");
  Node& node = graph.node(conv_id);
  ops::WriteConvActivation(node, activation);
  MakeFused(node);
  Absorb(graph, conv_id, behind->node);
  return context.Yes(graph, conv_id, "applies ", activation.def->name);
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

bool FuseConvActivation(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    if (!Fuses(each, each.node(id))) return false;
    const bool summed = each.node(id).inputs.size() < 4 && FuseSum(each, context, id);
    return FuseActivation(each, context, id) || summed;
  });
}

}  // namespace

constinit const Pass kFuseConvActivation = {
    .name = "fuse_conv_activation", .level = Level::kExtended, .run = FuseConvActivation};

}  // namespace sardonyx::optimizer
