// optimizer/passes/fuse_conv_batch_norm.cpp - BatchNormalization after Conv goes into the Conv's weights and bias.
//
// y = (conv(x, W) + b - mean) * scale / sqrt(variance + epsilon) + shift, so output channel m of W is multiplied by
// f[m] = scale[m] / sqrt(variance[m] + epsilon), and the bias becomes (b - mean) * f + shift. Computed in double.
#include <cmath>

#include "ops/upgrade.h"
#include "optimizer/passes.h"

namespace sardonyx::optimizer {
namespace {

template <typename T>
std::vector<double> Widened(const Tensor& t) {
  std::vector<double> values(static_cast<std::size_t>(t.count()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_arithmetic_v<T>) {
      values[i] = static_cast<double>(t.data<T>()[i]);
    } else {
      values[i] = static_cast<double>(static_cast<float>(t.data<T>()[i]));
    }
  }
  return values;
}

std::vector<double> Doubles(const Tensor& t) {
  std::vector<double> values;
  VisitDType<float, double, Half, BFloat16>(t.dtype(), [&]<typename T>() { values = Widened<T>(t); });
  return values;
}

Tensor Narrowed(DType dtype, const Shape& shape, const std::vector<double>& values) {
  Tensor t(dtype, shape);
  VisitDType<float, double, Half, BFloat16>(dtype, [&]<typename T>() {
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_arithmetic_v<T>) {
        t.data<T>()[i] = static_cast<T>(values[i]);
      } else {
        t.data<T>()[i] = T(static_cast<float>(values[i]));
      }
    }
  });
  return t;
}

// The Conv whose only reader is this BatchNormalization, with constant weights.
std::optional<NodeId> ConvBefore(const Graph& graph, const Node& norm) {
  const ValueInfo& between = graph.value(norm.inputs[0]);
  if (between.producer == kNoNode || graph.UseCount(norm.inputs[0]) != 1) return std::nullopt;
  const Node& conv = graph.node(between.producer);
  if (!conv.domain.empty() || conv.op_type != "Conv" || conv.provider != norm.provider) return std::nullopt;
  if (graph.value(conv.inputs[1]).constant() == nullptr) return std::nullopt;
  if (conv.inputs.size() > 2 && conv.inputs[2] != kNoValue && graph.value(conv.inputs[2]).constant() == nullptr)
    return std::nullopt;
  return conv.id;
}

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

bool Fuse(Graph& graph, NodeId norm_id) {
  const Node& norm = graph.node(norm_id);
  const auto conv_id = ConvBefore(graph, norm);
  if (!conv_id || !IsInference(graph, norm)) return false;
  const Node& conv = graph.node(*conv_id);
  const Tensor& weight = *graph.value(conv.inputs[1]).constant();
  if (weight.shape().rank() < 2 || weight.count() == 0) return false;
  const auto channels = static_cast<std::size_t>(weight.shape()[0]);
  std::vector<double> parameters[4];
  for (std::size_t i = 0; i < 4; ++i) {
    const Tensor& t = *graph.value(norm.inputs[i + 1]).constant();
    parameters[i] = Doubles(t);
    if (parameters[i].size() != channels) return false;
  }
  const auto& [scale, shift, mean, variance] = parameters;
  const AttributeValue* given = norm.FindAttribute("epsilon");
  const double epsilon = given != nullptr && std::holds_alternative<float>(*given) ? std::get<float>(*given) : 1e-5f;
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2] != kNoValue;
  std::vector<double> bias =
      has_bias ? Doubles(*graph.value(conv.inputs[2]).constant()) : std::vector<double>(channels, 0.0);
  std::vector<double> weights = Doubles(weight);
  if (weights.empty() || bias.size() != channels) return false;
  const std::size_t each = weights.size() / channels;
  for (std::size_t m = 0; m < channels; ++m) {
    const double factor = scale[m] / std::sqrt(variance[m] + epsilon);
    if (!std::isfinite(factor)) return false;
    for (std::size_t i = 0; i < each; ++i) weights[m * each + i] *= factor;
    bias[m] = (bias[m] - mean[m]) * factor + shift[m];
  }
  const std::string prefix = graph.value(conv.inputs[1]).name;
  const ValueId new_weight = graph.AddConstant(prefix, Narrowed(weight.dtype(), weight.shape(), weights));
  const ValueId new_bias =
      graph.AddConstant(prefix + "_bias", Narrowed(weight.dtype(), Shape{static_cast<std::int64_t>(channels)}, bias));
  graph.SetInput(*conv_id, 1, new_weight);
  graph.SetInput(*conv_id, 2, new_bias);
  const ValueId output = norm.outputs[0];
  graph.EraseNode(norm_id);
  graph.MoveOutput(*conv_id, 0, output);
  return true;
}

bool FuseIn(Graph& graph) {
  bool changed = false;
  for (const NodeId id : std::vector<NodeId>(graph.order)) {
    bool body_changed = false;
    for (Graph* body : graph.node(id).Subgraphs()) body_changed |= FuseIn(*body);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
    if (graph.node(id).domain.empty() && graph.node(id).op_type == "BatchNormalization" &&
        graph.node(id).inputs.size() >= 5)
      changed |= Fuse(graph, id);
  }
  return changed;
}

bool FuseConvBatchNorm(Graph& graph, PassContext&) { return FuseIn(graph); }

}  // namespace

constinit const Pass kFuseConvBatchNorm = {
    .name = "fuse_conv_batch_norm", .level = Level::kBasic, .run = FuseConvBatchNorm};

}  // namespace sardonyx::optimizer
