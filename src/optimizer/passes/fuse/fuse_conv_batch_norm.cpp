// optimizer/passes/fuse/fuse_conv_batch_norm.cpp - BatchNormalization after Conv or ConvTranspose goes into its weights
// and bias.
//
// y = (conv(x, W) + b - mean) * scale / sqrt(variance + epsilon) + shift, so output channel m of W is multiplied by
// f[m] = scale[m] / sqrt(variance[m] + epsilon), and the bias becomes b * f + (shift - mean * f). Computed in double.
#include <cmath>

#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

bool IsInference(const Graph& graph, const Node& norm) {
  for (std::size_t i = 1; i < norm.outputs.size(); ++i)
    if (norm.outputs[i] != kNoValue && graph.UseCount(norm.outputs[i]) != 0) return false;
  for (const char* flag : {"training_mode", "is_test", "spatial"}) {
    const AttributeValue* value = norm.FindAttribute(flag);
    if (value == nullptr) continue;
    const std::int64_t wanted = std::string_view(flag) == "training_mode" ? 0 : 1;
    if (!std::holds_alternative<std::int64_t>(*value) || std::get<std::int64_t>(*value) != wanted) return false;
  }
  for (std::size_t i = 1; i < 5; ++i)
    if (graph.value(norm.inputs[i]).constant() == nullptr) return false;
  return true;
}

bool Fuse(Graph& graph, const PassContext& context, NodeId norm_id) {
  const Node& norm = graph.node(norm_id);
  const char* why = nullptr;
  const NodeId conv_id = FoldableConv(graph, norm.inputs[0], &why);
  if (conv_id == kNoNode) return context.No(graph, norm_id, why);
  if (graph.node(conv_id).provider != norm.provider)
    return context.No(graph, norm_id, "the convolution runs on another provider");
  if (!IsInference(graph, norm)) return context.No(graph, norm_id, "expected constant parameters and no training");
  const auto channels = static_cast<std::size_t>(ConvOutputChannels(graph, graph.node(conv_id)));
  std::vector<double> parameters[4];
  for (std::size_t i = 0; i < 4; ++i) {
    parameters[i] = FloatsOf(*graph.value(norm.inputs[i + 1]).constant());
    if (parameters[i].size() != channels) return context.No(graph, norm_id, "expected ", channels, " parameters");
  }
  const auto& [scale, shift, mean, variance] = parameters;
  const AttributeValue* given = norm.FindAttribute("epsilon");
  const double epsilon = given != nullptr && std::holds_alternative<float>(*given) ? std::get<float>(*given) : 1e-5f;
  std::vector<double> factor(channels), summand(channels);
  for (std::size_t m = 0; m < channels; ++m) {
    factor[m] = scale[m] / std::sqrt(variance[m] + epsilon);
    summand[m] = shift[m] - mean[m] * factor[m];
  }
  return FoldIntoConv(graph, conv_id, factor, summand, norm_id) ||
         context.No(graph, norm_id, "a folded weight would be infinite or of a type that is not folded");
}

bool FuseConvBatchNorm(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    const Node& node = each.node(id);
    return node.domain.empty() && node.op_type == "BatchNormalization" && node.inputs.size() >= 5 &&
           Fuse(each, context, id);
  });
}

}  // namespace

constinit const Pass kFuseConvBatchNorm = {
    .name = "fuse_conv_batch_norm", .level = Level::kBasic, .run = FuseConvBatchNorm};

}  // namespace sardonyx::optimizer
