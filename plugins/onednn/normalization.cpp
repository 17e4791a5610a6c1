// plugins/onednn/normalization.cpp - BatchNormalization, LayerNormalization, Softmax and LogSoftmax.
#include <numeric>

#include "operators.h"

namespace sardonyx_onednn {
namespace {

using dnnl::normalization_flags;
using dnnl::prop_kind;

std::string BatchNormalizationRefusal(const Graph& graph, const Node& node) {
  if (node.Int("training_mode", 0) != 0) return "training";
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] >= 0) return "training";
  if (const std::string refusal = FloatsRefusal(graph, node); !refusal.empty()) return refusal;
  return HasRank(graph, node.inputs[0], 2, 5) ? "" : "oneDNN has up to 3 spatial axes";
}

void BuildBatchNormalization(Builder& builder, const Node& node) {
  const Tensor input = builder.Float(node.inputs[0]);
  for (std::size_t i = 1; i < 5; ++i)
    if (builder.Float(node.inputs[i]).dims != Dims{input.dims[1]})
      builder.Fail(node, "input " + std::to_string(i) + ": expected shape [" + std::to_string(input.dims[1]) +
                             "], found " + Show(builder.Float(node.inputs[i]).dims));
  Tensor result = builder.New(input.desc, input.dims);
  builder.Set(node.outputs[0], result);
  if (CountOf(input.dims) == 0) return;
  const auto flags =
      normalization_flags::use_global_stats | normalization_flags::use_scale | normalization_flags::use_shift;
  const auto found = Describe<dnnl::batch_normalization_forward>(
      {prop_kind::forward_inference, input.desc, node.Float("epsilon", 1e-5f), flags}, {}, builder.engine());
  if (!found) builder.Fail(node, "oneDNN has no primitive for " + Show(input.dims));
  builder.Run<dnnl::batch_normalization_forward>(*found, {{DNNL_ARG_SRC, input},
                                                          {DNNL_ARG_SCALE, builder.Plain(node.inputs[1])},
                                                          {DNNL_ARG_SHIFT, builder.Plain(node.inputs[2])},
                                                          {DNNL_ARG_MEAN, builder.Plain(node.inputs[3])},
                                                          {DNNL_ARG_VARIANCE, builder.Plain(node.inputs[4])},
                                                          {DNNL_ARG_DST, result}});
}

std::string LayerNormalizationRefusal(const Graph& graph, const Node& node) {
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] >= 0) return "it asks for mean or deviation";
  if (const std::string refusal = FloatsRefusal(graph, node); !refusal.empty()) return refusal;
  return node.Int("stash_type", 1) == 1 && HasRank(graph, node.inputs[0], 1) ? "" : "its stash_type";
}

void BuildLayerNormalization(Builder& builder, const Node& node) {
  const Tensor input = builder.Plain(node.inputs[0]);
  const std::size_t axis = AxisOf(builder, node, node.Int("axis", -1), input.dims.size());
  const Dims outer(input.dims.begin(), input.dims.begin() + static_cast<std::ptrdiff_t>(axis));
  const Dims inner(input.dims.begin() + static_cast<std::ptrdiff_t>(axis), input.dims.end());
  const Dims matrix{CountOf(outer), CountOf(inner)};
  const Tensor result = builder.NewPlain(input.dims);
  builder.Set(node.outputs[0], result);
  if (CountOf(input.dims) == 0) return;
  auto flags = normalization_flags::use_scale;
  if (node.Input(2) >= 0) flags = flags | normalization_flags::use_shift;
  const auto found = Describe<dnnl::layer_normalization_forward>(
      {prop_kind::forward_inference, Builder::PlainDesc(matrix), node.Float("epsilon", 1e-5f), flags}, {},
      builder.engine());
  if (!found) builder.Fail(node, "oneDNN has no primitive for " + Show(input.dims));
  const auto vector = [&](int value) {  // as long as a row
    Tensor tensor = builder.Plain(value);
    if (CountOf(tensor.dims) != matrix[1]) tensor = builder.Expanded(tensor, inner);
    return builder.View(tensor, {matrix[1]});
  };
  Arguments arguments{{DNNL_ARG_SRC, builder.View(input, matrix)},
                      {DNNL_ARG_SCALE, vector(node.inputs[1])},
                      {DNNL_ARG_DST, builder.View(result, matrix)}};
  if (node.Input(2) >= 0) arguments.emplace_back(DNNL_ARG_SHIFT, vector(node.inputs[2]));
  builder.Run<dnnl::layer_normalization_forward>(*found, arguments);
}

std::string SoftmaxRefusal(const Graph& graph, const Node& node) {
  if (const std::string refusal = FloatsRefusal(graph, node); !refusal.empty()) return refusal;
  return HasRank(graph, node.inputs[0], 1) ? "" : "a scalar";
}

void BuildSoftmax(Builder& builder, const Node& node) {
  const Tensor input = builder.Plain(node.inputs[0]);
  const Tensor result = builder.NewPlain(input.dims);
  builder.Set(node.outputs[0], result);
  if (CountOf(input.dims) == 0) return;
  const bool old = node.since < 13;  // all axes from this one on are one
  const std::size_t axis = AxisOf(builder, node, node.Int("axis", old ? 1 : -1), input.dims.size());
  const auto product = [&](std::size_t from, std::size_t to) {
    return CountOf(
        {input.dims.begin() + static_cast<std::ptrdiff_t>(from), input.dims.begin() + static_cast<std::ptrdiff_t>(to)});
  };
  const std::size_t rank = input.dims.size();
  Dims view{product(0, axis), old ? product(axis, rank) : input.dims[axis]};
  if (!old && axis + 1 < rank) view.push_back(product(axis + 1, rank));
  const Desc desc = Builder::PlainDesc(view);
  const auto kind = node.op_type == "Softmax" ? dnnl::algorithm::softmax_accurate : dnnl::algorithm::softmax_log;
  const auto found =
      Describe<dnnl::softmax_v2_forward>({prop_kind::forward_inference, kind, desc, desc, 1}, {}, builder.engine());
  if (!found) builder.Fail(node, "oneDNN has no primitive for " + Show(input.dims));
  builder.Run<dnnl::softmax_v2_forward>(
      *found, {{DNNL_ARG_SRC, builder.View(input, view)}, {DNNL_ARG_DST, builder.View(result, view)}});
}

constexpr Operator kOperators[] = {
    {"BatchNormalization", 9, 15, true, BatchNormalizationRefusal, BuildBatchNormalization},
    {"LayerNormalization", 17, 17, true, LayerNormalizationRefusal, BuildLayerNormalization},
    {"Softmax", 1, 13, true, SoftmaxRefusal, BuildSoftmax},
    {"LogSoftmax", 1, 13, true, SoftmaxRefusal, BuildSoftmax},
};

}  // namespace

std::span<const Operator> NormalizationOperators() { return kOperators; }

}  // namespace sardonyx_onednn
