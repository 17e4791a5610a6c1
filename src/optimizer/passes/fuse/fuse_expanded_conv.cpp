// optimizer/passes/fuse/fuse_expanded_conv.cpp - a channels-last 1x1 Conv and the depthwise Conv that alone reads it
// become ai.sardonyx ExpandedConv, which computes the wide image between them in parts that stay in the cache.
#include <algorithm>

#include "ops/channels_last.h"
#include "ops/own_domain.h"
#include "ops/schema/schema.h"
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kX = 0, kW = 1, kB = 2, kZ = 3;

bool IsConv(const Node& node) {
  return node.domain == ops::kChannelsLastDomain && (node.op_type == "Conv" || node.op_type == "FusedConv") &&
         IntAttribute(node, "channels_first_input", 0) == 0 && IntAttribute(node, "channels_first_output", 0) == 0;
}

ValueId InputOf(const Node& node, std::size_t i) { return i < node.inputs.size() ? node.inputs[i] : kNoValue; }

bool AllAre(const Node& node, std::string_view attribute, std::int64_t value) {
  const auto* found = AttributeAs<std::vector<std::int64_t>>(node, attribute);
  return found == nullptr || std::all_of(found->begin(), found->end(), [&](auto each) { return each == value; });
}

// [M, C, kH, kW] of a constant of floats; empty for others.
Shape Weights(const Graph& graph, const Node& conv) {
  const Tensor* w = graph.value(conv.inputs[kW]).constant();
  return w != nullptr && w->dtype() == DType::kFloat && w->shape().rank() == 4 ? w->shape() : Shape{};
}

bool IsDepthwise(const Graph& graph, const Node& node, const PassContext& context, NodeId id) {
  const Shape w = Weights(graph, node);
  if (w.empty() || w[1] != 1 || w[0] < 2 || IntAttribute(node, "group", 1) != w[0]) return false;
  if (InputOf(node, kZ) != kNoValue) return context.No(graph, id, "the depthwise Conv adds a summand");
  return AllAre(node, "dilations", 1) || context.No(graph, id, "the depthwise Conv has dilations");
}

// Whether the node that makes the image of a depthwise Conv is a 1x1 Conv that it can take over.
bool Widens(const Graph& graph, const Node& wide, const PassContext& context, NodeId id) {
  const Shape w = Weights(graph, wide);
  if (w.empty() || w[2] != 1 || w[3] != 1 || IntAttribute(wide, "group", 1) != 1) return false;
  if (InputOf(wide, kZ) != kNoValue) return context.No(graph, id, "the 1x1 Conv adds a summand");
  if (!AllAre(wide, "strides", 1) || !AllAre(wide, "pads", 0) || w[0] == 0 || w[1] == 0)
    return context.No(graph, id, "the 1x1 Conv has strides, pads or no channels");
  return true;
}

// `conv` gets the activation of the 1x1 Conv as another attribute.
void CopyActivation(const Node& wide, Node& conv) {
  for (const std::string_view name : {"activation", "activation_params"})
    if (const AttributeValue* found = wide.FindAttribute(name)) conv.SetAttribute("wide_" + std::string(name), *found);
}

bool Fuse(Graph& graph, const PassContext& context, NodeId id) {
  if (!IsConv(graph.node(id)) || !IsDepthwise(graph, graph.node(id), context, id)) return false;
  const ValueId image = graph.node(id).inputs[kX];
  const NodeId wide_id = graph.value(image).producer;
  if (wide_id == kNoNode || !IsConv(graph.node(wide_id)) || !Widens(graph, graph.node(wide_id), context, id))
    return false;
  if (OnlyReader(graph, image) == nullptr)
    return context.No(graph, id, "other nodes read the image of the 1x1 Conv, or it is an output");
  const Node wide = graph.node(wide_id);
  const ValueId w = graph.node(id).inputs[kW], bias = InputOf(graph.node(id), kB);
  graph.EraseNode(wide_id);
  const ValueId inputs[] = {wide.inputs[kX], wide.inputs[kW], InputOf(wide, kB), w, bias};
  for (std::size_t i = 0; i < std::size(inputs); ++i) graph.SetInput(id, i, inputs[i]);
  Node& conv = graph.node(id);
  conv.domain = std::string(ops::kOwnDomain);
  conv.op_type = "ExpandedConv";
  conv.since_version = ops::FindSchema(ops::kOwnDomain, "ExpandedConv")->since_version;
  CopyActivation(wide, conv);
  return context.Yes(graph, id, "computes the image of ", Describe(graph, wide), " in parts");
}

bool FuseExpandedConv(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return Fuse(each, context, id); });
}

}  // namespace

constinit const Pass kFuseExpandedConv = {
    .name = "fuse_expanded_conv", .level = Level::kLayout, .run = FuseExpandedConv};

}  // namespace sardonyx::optimizer
