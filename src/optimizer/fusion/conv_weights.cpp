// optimizer/fusion/conv_weights.cpp - scaled weights of convolutions, computed in double.
#include "optimizer/fusion/conv_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "optimizer/rules/rewrite.h"

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

std::int64_t Groups(const Node& conv) {
  const AttributeValue* group = conv.FindAttribute("group");
  return group != nullptr && std::holds_alternative<std::int64_t>(*group) ? std::get<std::int64_t>(*group) : 1;
}

// Conv: [M, C / group, ...]; ConvTranspose: [C, M / group, ...], its channel m in group m / (M / group).
void ScaleWeights(const Node& conv, const Shape& shape, const std::vector<double>& factor,
                  std::vector<double>& weights) {
  const auto taps = static_cast<std::size_t>(ElementCount(shape, 2, shape.rank()));
  const auto rows = static_cast<std::size_t>(shape[0]), columns = static_cast<std::size_t>(shape[1]);
  const bool transposed = conv.op_type == "ConvTranspose";
  const std::size_t rows_of_group = transposed ? rows / static_cast<std::size_t>(Groups(conv)) : rows;
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < columns; ++c) {
      const double f = factor[transposed ? r / rows_of_group * columns + c : r];
      for (std::size_t t = 0; t < taps; ++t) weights[(r * columns + c) * taps + t] *= f;
    }
}

bool AllFinite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

// A product of two parameters may be too large for their type.
bool AllFit(DType dtype, const std::vector<double>& values) {
  double largest = std::numeric_limits<float>::max();
  if (dtype == DType::kFloat16) largest = 65504;
  if (dtype == DType::kDouble) largest = std::numeric_limits<double>::max();
  return std::all_of(values.begin(), values.end(), [&](double v) { return std::abs(v) <= largest; });
}

}  // namespace

std::vector<double> FloatsOf(const Tensor& tensor) {
  std::vector<double> values;
  VisitDType<float, double, Half, BFloat16>(tensor.dtype(), [&]<typename T>() { values = Widened<T>(tensor); });
  return values;
}

Tensor TensorOfFloats(DType dtype, const Shape& shape, const std::vector<double>& values) {
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

NodeId FoldableConv(const Graph& graph, ValueId value, const char** why) {
  const auto no = [&](const char* reason) {
    if (why != nullptr) *why = reason;
    return kNoNode;
  };
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode) return no("no convolution makes its input");
  const Node& conv = graph.node(producer);
  if (!Is(conv, "Conv") && !Is(conv, "ConvTranspose")) return no("no convolution makes its input");
  if (graph.UseCount(value) != 1) return no("the convolution's result is an output, or others read it, too");
  const Tensor* weight = conv.inputs.size() > 1 ? graph.value(conv.inputs[1]).constant() : nullptr;
  if (weight == nullptr) return no("the convolution's weights are not constant");
  if (weight->shape().rank() < 3 || weight->count() == 0 || Groups(conv) < 1 || weight->shape()[0] % Groups(conv) != 0)
    return no("the convolution's weights have no usable shape");
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2] != kNoValue;
  if (has_bias && graph.value(conv.inputs[2]).constant() == nullptr)
    return no("the convolution's bias is not constant");
  return producer;
}

std::int64_t ConvOutputChannels(const Graph& graph, const Node& conv) {
  const Shape& shape = graph.value(conv.inputs[1]).constant()->shape();
  return conv.op_type == "ConvTranspose" ? shape[1] * Groups(conv) : shape[0];
}

bool FoldIntoConv(Graph& graph, NodeId conv_id, const std::vector<double>& factor, const std::vector<double>& shift,
                  NodeId after) {
  const Node& conv = graph.node(conv_id);
  const auto channels = static_cast<std::size_t>(ConvOutputChannels(graph, conv));
  if (factor.size() != channels || shift.size() != channels || !AllFinite(factor) || !AllFinite(shift)) return false;
  const Tensor& weight = *graph.value(conv.inputs[1]).constant();
  const bool has_bias = conv.inputs.size() > 2 && conv.inputs[2] != kNoValue;
  std::vector<double> bias =
      has_bias ? FloatsOf(*graph.value(conv.inputs[2]).constant()) : std::vector<double>(channels, 0.0);
  std::vector<double> weights = FloatsOf(weight);
  if (weights.empty() || bias.size() != channels) return false;
  ScaleWeights(conv, weight.shape(), factor, weights);
  for (std::size_t m = 0; m < channels; ++m) bias[m] = bias[m] * factor[m] + shift[m];
  if (!AllFit(weight.dtype(), weights) || !AllFit(weight.dtype(), bias)) return false;
  const std::string prefix = graph.value(conv.inputs[1]).name;
  const ValueId new_weight = graph.AddConstant(prefix, TensorOfFloats(weight.dtype(), weight.shape(), weights));
  const ValueId new_bias = graph.AddConstant(
      prefix + "_bias", TensorOfFloats(weight.dtype(), Shape{static_cast<std::int64_t>(channels)}, bias));
  graph.SetInput(conv_id, 1, new_weight);
  graph.SetInput(conv_id, 2, new_bias);
  const ValueId output = graph.node(after).outputs[0];
  graph.EraseNode(after);
  graph.MoveOutput(conv_id, 0, output);
  return true;
}

}  // namespace sardonyx::optimizer
