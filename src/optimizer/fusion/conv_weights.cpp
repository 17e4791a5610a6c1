// optimizer/fusion/conv_weights.cpp - scales the weights of convolutions, with products in double.
#include "optimizer/fusion/conv_weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

std::int64_t Groups(const Node& conv) {
  const AttributeValue* group = conv.FindAttribute("group");
  return group != nullptr && std::holds_alternative<std::int64_t>(*group) ? std::get<std::int64_t>(*group) : 1;
}

double LargestOf(DType dtype) {
  if (dtype == DType::kFloat16) return 65504;
  return dtype == DType::kDouble ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
}

template <typename T>
double Widened(T value) {
  if constexpr (std::is_arithmetic_v<T>) return static_cast<double>(value);
  return static_cast<double>(static_cast<float>(value));
}

// Sets `to` to `factor` times `from`, kCount of them; false if a product is not finite in this type.
template <std::size_t kCount, typename T>
bool ScaleBlock(const T* from, double factor, double largest, T* to) {
  double products[kCount];
  int wrong = 0;
  for (std::size_t i = 0; i < kCount; ++i) products[i] = factor * Widened(from[i]);
  for (std::size_t i = 0; i < kCount; ++i) wrong |= static_cast<int>(!(std::abs(products[i]) <= largest));
  for (std::size_t i = 0; i < kCount; ++i) {
    if constexpr (std::is_arithmetic_v<T>) {
      to[i] = static_cast<T>(products[i]);
    } else {
      to[i] = T(static_cast<float>(products[i]));
    }
  }
  return wrong == 0;
}

// In one pass and in blocks of a constant size, which compilers make vectors of: weights are most of the bytes that
// loading a model has to move.
template <typename T>
bool Scale(std::span<const T> from, double factor, double largest, T* to) {
  constexpr std::size_t kBlock = 16;
  std::size_t i = 0;
  bool fits = true;
  for (; i + kBlock <= from.size(); i += kBlock) fits &= ScaleBlock<kBlock>(&from[i], factor, largest, to + i);
  for (; i < from.size(); ++i) fits &= ScaleBlock<1>(&from[i], factor, largest, to + i);
  return fits;
}

// Conv: [M, C / group, ...]; ConvTranspose: [C, M / group, ...], its channel m in group m / (M / group). nullopt if a
// number is not finite.
template <typename T>
std::optional<Tensor> ScaledWeights(const Node& conv, const Tensor& weights, const std::vector<double>& factor) {
  const Shape& shape = weights.shape();
  const auto taps = static_cast<std::size_t>(ElementCount(shape, 2, shape.rank()));
  const auto rows = static_cast<std::size_t>(shape[0]), columns = static_cast<std::size_t>(shape[1]);
  const bool transposed = conv.op_type == "ConvTranspose";
  const std::size_t rows_of_group = transposed ? rows / static_cast<std::size_t>(Groups(conv)) : rows;
  const std::size_t run = transposed ? taps : taps * columns;  // of weights with one factor
  const double largest = LargestOf(weights.dtype());
  Tensor scaled(weights.dtype(), shape);
  const std::span<const T> from(weights.data<T>(), rows * columns * taps);
  for (std::size_t begin = 0; begin < from.size(); begin += run) {
    const std::size_t row = begin / (taps * columns), column = begin / taps % columns;
    const double f = factor[transposed ? row / rows_of_group * columns + column : row];
    if (!Scale(from.subspan(begin, run), f, largest, scaled.data<T>() + begin)) return std::nullopt;
  }
  return scaled;
}

bool AllFinite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

// A product of two parameters may be too large for their type.
bool AllFit(DType dtype, const std::vector<double>& values) {
  const double largest = LargestOf(dtype);
  return std::all_of(values.begin(), values.end(), [&](double v) { return std::abs(v) <= largest; });
}

}  // namespace

std::vector<double> FloatsOf(const Tensor& tensor) {
  std::vector<double> values;
  VisitDType<float, double, Half, BFloat16>(tensor.dtype(), [&]<typename T>() {
    values.resize(static_cast<std::size_t>(tensor.count()));
    std::transform(tensor.data<T>(), tensor.data<T>() + values.size(), values.begin(), Widened<T>);
  });
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

std::vector<double> PerChannel(const Tensor& constant, std::size_t rank, std::int64_t channels) {
  const Shape& shape = constant.shape();
  if (shape.rank() > rank) return {};
  const std::size_t missing = rank - shape.rank();
  for (std::size_t i = 0; i < shape.rank(); ++i)
    if (shape[i] != 1 && (missing + i != 1 || shape[i] != channels)) return {};
  std::vector<double> values = FloatsOf(constant);
  if (values.size() == 1) values.assign(static_cast<std::size_t>(channels), values[0]);
  return values;
}

std::optional<ChannelNorm> ChannelNormOf(Match& m) {
  std::vector<double> parameters[4];
  const char* const names[] = {"scale", "shift", "mean", "variance"};
  for (std::size_t i = 0; i < 4; ++i) {
    const Tensor* constant = m.constant(names[i]);
    if (constant == nullptr) m.No("'", m.graph().value(m.value(names[i])).name, "' is not constant");
    if (constant == nullptr) return std::nullopt;
    parameters[i] = FloatsOf(*constant);
    if (parameters[i].size() == parameters[0].size()) continue;
    m.No("its parameters have different lengths");
    return std::nullopt;
  }
  const auto& [scale, shift, mean, variance] = parameters;
  ChannelNorm norm{.factor = scale, .mean = mean, .shift = shift, .summand = shift};
  const double epsilon = m.FloatAttribute("epsilon", 1e-5f);
  for (std::size_t c = 0; c < scale.size(); ++c) {
    norm.factor[c] /= std::sqrt(variance[c] + epsilon);
    norm.summand[c] -= mean[c] * norm.factor[c];
  }
  return norm;
}

bool IsFoldableConv(Match& m) {
  const Tensor* weight = m.constant("w");
  if (weight == nullptr) {
    const bool quantized = ProducerOf(m.graph(), m.value("w"), "DequantizeLinear") != nullptr;
    return m.No(quantized ? "the convolution's weights are quantized: fuse_quantized_conv_scale changes their scales"
                          : "the convolution's weights are not constant");
  }
  const std::int64_t groups = Groups(m.node("y"));
  if (weight->shape().rank() < 3 || weight->count() == 0 || groups < 1 || weight->shape()[0] % groups != 0)
    return m.No("the convolution's weights have no usable shape");
  return !m.Has("b") || m.constant("b") != nullptr || m.No("the convolution's bias is not constant");
}

std::int64_t ConvOutputChannels(const Match& m) {
  const Shape& shape = m.constant("w")->shape();
  const Node& conv = m.node("y");
  return conv.op_type == "ConvTranspose" ? shape[1] * Groups(conv) : shape[0];
}

bool FoldIntoConv(Match& m, const std::vector<double>& factor, const std::vector<double>& shift) {
  const auto channels = static_cast<std::size_t>(ConvOutputChannels(m));
  if (factor.size() != channels || shift.size() != channels)
    return m.No("expected ", channels, " parameters, found ", factor.size());
  const Tensor& weight = *m.constant("w");
  std::vector<double> bias = m.Has("b") ? FloatsOf(*m.constant("b")) : std::vector<double>(channels, 0.0);
  if (bias.size() != channels) return m.No("weights of this type are not folded");
  const char* const infinite = "a folded weight would be infinite";
  if (!AllFinite(factor) || !AllFinite(shift)) return m.No(infinite);
  for (std::size_t c = 0; c < channels; ++c) bias[c] = bias[c] * factor[c] + shift[c];
  if (!AllFit(weight.dtype(), bias)) return m.No(infinite);
  std::optional<Tensor> scaled;
  const bool known = VisitDType<float, double, Half, BFloat16>(weight.dtype(), [&]<typename T>() {
    const bool only_shifts = std::all_of(factor.begin(), factor.end(), [](double f) { return f == 1; });
    scaled = only_shifts ? weight : ScaledWeights<T>(m.node("y"), weight, factor);
  });
  if (!scaled) return m.No(known ? infinite : "weights of this type are not folded");
  const std::string name = m.graph().value(m.value("w")).name;
  const Shape row{static_cast<std::int64_t>(channels)};
  m.SetConstant("b", TensorOfFloats(weight.dtype(), row, bias), name + "_bias");
  m.SetConstant("w", std::move(*scaled), name);
  return true;
}

}  // namespace sardonyx::optimizer
