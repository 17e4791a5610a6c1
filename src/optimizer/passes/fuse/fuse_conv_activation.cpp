// optimizer/passes/fuse/fuse_conv_activation.cpp - Conv, a sum with a value of its shape and an activation become one
// com.microsoft FusedConv: activation(conv(X, W) + B + Z), ONNX Runtime's operator and semantics.
#include <algorithm>

#include "ops/schema/schema.h"
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// ONNX Runtime's FusedConv lacks these, and a convolution with Elu inside it takes as long as the two nodes.
constexpr std::string_view kOfProducts[] = {"Elu", "Selu", "Softplus", "Softsign", "ThresholdedRelu"};

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
  const FusedActivation& activation = behind->activation;
  if (activation.bias != kNoValue) return context.No(graph, conv_id, "the activation adds a bias of its own");
  if (std::find(std::begin(kOfProducts), std::end(kOfProducts), activation.name) != std::end(kOfProducts))
    return context.No(graph, conv_id, activation.name, " is fused into products only");
  Node& node = graph.node(conv_id);
  node.SetAttribute("activation", activation.name);
  std::vector<float> params;  // ONNX Runtime refuses more than the activation has
  for (const std::optional<float>& param : {activation.alpha, activation.beta})
    if (param) params.push_back(*param);
  if (!params.empty()) node.SetAttribute("activation_params", std::move(params));
  MakeFused(node);
  Absorb(graph, conv_id, behind->node);
  return context.Yes(graph, conv_id, "applies ", activation.name);
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
