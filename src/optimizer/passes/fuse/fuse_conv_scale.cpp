// optimizer/passes/fuse/fuse_conv_scale.cpp - Mul, Div, Add and Sub by constants per channel after Conv or
// ConvTranspose go into its weights and bias.
#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// One value for each of `channels`, from a constant that broadcasts to [N, C, spatial...] along the channels only and
// adds no axis; empty if it is another one.
std::vector<double> PerChannel(const Tensor& constant, std::size_t rank, std::int64_t channels) {
  const Shape& shape = constant.shape();
  if (shape.rank() > rank) return {};
  const std::size_t missing = rank - shape.rank();
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const std::int64_t allowed = missing + i == 1 ? channels : 1;
    if (shape[i] != 1 && shape[i] != allowed) return {};
  }
  std::vector<double> values = FloatsOf(constant);
  if (values.size() == 1) values.assign(static_cast<std::size_t>(channels), values[0]);
  return values;
}

bool Fuse(Graph& graph, const PassContext& context, NodeId id) {
  const Node& node = graph.node(id);
  const char* why = nullptr;
  const char* conv_why = nullptr;
  const auto near = [&](ValueId value) {
    return ProducerOf(graph, value, "Conv") != nullptr || ProducerOf(graph, value, "ConvTranspose") != nullptr;
  };
  if (node.FindAttribute("axis") != nullptr) return false;  // before opset 7: another way to broadcast
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    if (node.inputs[side] == kNoValue || node.inputs[1 - side] == kNoValue) return false;
    const Tensor* constant = graph.value(node.inputs[1 - side]).constant();
    if (!near(node.inputs[side])) continue;
    why = "the other operand is not constant";
    if (constant == nullptr) continue;
    const NodeId conv_id = FoldableConv(graph, node.inputs[side], &conv_why);
    why = conv_id == kNoNode ? conv_why : "the convolution runs on another provider";
    if (conv_id == kNoNode || graph.node(conv_id).provider != node.provider) continue;
    why = "it divides by what the convolution makes";
    if (node.op_type == "Div" && side == 1) continue;
    const Node& conv = graph.node(conv_id);
    const Tensor& weight = *graph.value(conv.inputs[1]).constant();
    why = "the constant has another type than the weights";
    if (weight.dtype() != constant->dtype()) continue;
    const std::int64_t channels = ConvOutputChannels(graph, conv);
    std::vector<double> values = PerChannel(*constant, weight.shape().rank(), channels);
    why = "the constant has not one value for each channel";
    if (values.empty()) continue;
    std::vector<double> factor(values.size(), 1.0), shift(values.size(), 0.0);
    if (node.op_type == "Mul") factor = values;
    if (node.op_type == "Div")
      for (std::size_t m = 0; m < values.size(); ++m) factor[m] = 1 / values[m];
    if (node.op_type == "Add") shift = values;
    if (node.op_type == "Sub" && side == 0)
      for (std::size_t m = 0; m < values.size(); ++m) shift[m] = -values[m];
    if (node.op_type == "Sub" && side == 1) shift = values, factor.assign(values.size(), -1.0);
    why = "a folded weight would be infinite";
    if (FoldIntoConv(graph, conv_id, factor, shift, id)) return true;
  }
  return why != nullptr && context.No(graph, id, why);
}

bool FuseConvScale(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    const Node& node = each.node(id);
    const bool linear =
        node.op_type == "Mul" || node.op_type == "Div" || node.op_type == "Add" || node.op_type == "Sub";
    return linear && node.domain.empty() && node.inputs.size() == 2 && Fuse(each, context, id);
  });
}

}  // namespace

constinit const Pass kFuseConvScale = {.name = "fuse_conv_scale", .level = Level::kBasic, .run = FuseConvScale};

}  // namespace sardonyx::optimizer
