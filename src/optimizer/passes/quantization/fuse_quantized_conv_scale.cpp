// optimizer/passes/quantization/fuse_quantized_conv_scale.cpp - BatchNormalization, and Mul, Div, Add and Sub by
// constants per channel, behind a Conv whose weights are dequantized constants: they go into the scales of the weights
// and into the bias. The integers stay, so that the convolution can still become one of integers.
//
// Training with fake quantization leaves such nodes: torch quantizes the weights that the normalization scales and
// divides by its factor behind the convolution, and TensorRT's tools quantize weights in front of a normalization.
#include <algorithm>
#include <cmath>
#include <limits>

#include "optimizer/fusion/conv_weights.h"
#include "optimizer/passes/passes.h"
#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

constexpr char kConv[] = "conv = y:Conv(x, wd:DequantizeLinear(w, s, ?z), ?b)";

// Weights whose channels may each have a scale: integers with their zero points, one a channel.
struct Channels {
  Tensor integers;
  std::vector<double> scales;
  std::vector<int> zeros;

  std::int64_t count() const { return integers.shape()[0]; }
  int lowest() const { return integers.dtype() == DType::kInt8 ? -128 : 0; }
  int at(std::int64_t i) const {
    return integers.dtype() == DType::kInt8 ? integers.data<std::int8_t>()[i] : integers.data<std::uint8_t>()[i];
  }
  void Set(std::int64_t i, int value) {
    static_cast<std::uint8_t*>(integers.raw())[i] = static_cast<std::uint8_t>(value);
  }

  // Multiplies a channel by a factor of any sign; false if its integers or its scale do not allow it.
  bool Scale(std::int64_t channel, double factor) {
    const auto c = static_cast<std::size_t>(channel);
    const std::int64_t inner = integers.count() / count();
    for (std::int64_t i = channel * inner; factor <= 0 && i < (channel + 1) * inner; ++i) {
      const int mirrored = factor == 0 ? zeros[c] : 2 * zeros[c] - at(i);
      if (mirrored < lowest() || mirrored > lowest() + 255) return false;
      Set(i, mirrored);
    }
    if (factor != 0) scales[c] *= std::abs(factor);
    return scales[c] >= std::numeric_limits<float>::min() && scales[c] <= std::numeric_limits<float>::max();
  }
};

std::optional<Channels> ChannelsOf(Match& m) {
  const auto q = DequantizedFrom(m.graph(), m.value("wd"));
  const Tensor* data = q ? m.graph().value(q->data).constant() : nullptr;
  const bool usable = data != nullptr && q->Is8Bit() && (!q->axis || *q->axis == 0) && data->shape().rank() > 2;
  if (!usable || data->count() == 0) {
    m.No("its weights are not constants of 8 bits with scales along axis 0");
    return std::nullopt;
  }
  Channels channels{data->Clone(), ScalesOf(m.graph(), *q), {}};
  const auto count = static_cast<std::size_t>(channels.count());
  const Tensor* zero = q->zero == kNoValue ? nullptr : m.graph().value(q->zero).constant();
  for (std::size_t c = 0; c < count; ++c) {
    const std::size_t i = q->axis ? c : 0;
    channels.zeros.push_back(zero == nullptr                 ? 0
                             : zero->dtype() == DType::kInt8 ? int{zero->data<std::int8_t>()[i]}
                                                             : int{zero->data<std::uint8_t>()[i]});
  }
  if (!q->axis) channels.scales.assign(count, q->scale_value);
  return channels;
}

// Sets what makes the convolution compute factor[c] * (what it computed) + summand[c].
bool Fold(Match& m, const std::vector<double>& factor, const std::vector<double>& summand) {
  auto channels = ChannelsOf(m);
  if (!channels) return false;
  const auto count = static_cast<std::size_t>(channels->count());
  if (factor.size() != count || summand.size() != count)
    return m.No("expected ", count, " parameters, found ", factor.size());
  std::vector<double> bias(count, 0.0);
  if (m.Has("b")) {
    const auto given = ConstantElements(m.graph(), m.value("b"));
    if (!given || given->size() != count) return m.No("the convolution's bias is not constant");
    bias = *given;
  }
  for (std::size_t c = 0; c < count; ++c) {
    bias[c] = bias[c] * factor[c] + summand[c];
    if (!channels->Scale(static_cast<std::int64_t>(c), factor[c]) ||
        !(std::abs(bias[c]) <= std::numeric_limits<float>::max()))
      return m.No("a scale or a bias would not be a finite float, or an integer would leave its range");
  }
  const Shape row{channels->count()};
  Tensor zeros(channels->integers.dtype(), row);
  for (std::size_t c = 0; c < count; ++c)
    static_cast<std::uint8_t*>(zeros.raw())[c] = static_cast<std::uint8_t>(channels->zeros[c]);
  const std::string name = m.graph().value(m.value("w")).name;
  m.SetConstant("b", TensorOfFloats(DType::kFloat, row, bias), name + "_bias");
  m.SetConstant("s", TensorOfFloats(DType::kFloat, row, channels->scales), name + "_scale");
  m.SetConstant("z", std::move(zeros), name + "_zero_point");
  m.SetConstant("w", std::move(channels->integers), name);
  return true;
}

bool FoldsNorm(Match& m) {
  if (IntAttribute(m.graph().node(m.root()), "training_mode", 0) != 0) return m.No("it trains");
  const auto norm = ChannelNormOf(m);
  return norm && Fold(m, norm->factor, norm->summand);
}

struct Affine {
  double factor, summand;
};

bool Folds(Match& m, Affine (*affine)(double)) {
  const Tensor* constant = m.constant("c");
  if (constant == nullptr) return m.No("the other operand is not constant");
  const Type& weights = m.type("w");
  if (!weights.HasStaticShape() || constant->dtype() != DType::kFloat) return m.No("the weights have no static shape");
  const std::vector<double> values = PerChannel(*constant, weights.rank(), weights.StaticShape()[0]);
  if (values.empty()) return m.No("the constant does not have one value for each channel");
  std::vector<double> factor, summand;
  for (const double value : values) {
    factor.push_back(affine(value).factor);
    summand.push_back(affine(value).summand);
  }
  return Fold(m, factor, summand);
}
bool FoldsFactor(Match& m) {
  return Folds(m, [](double c) { return Affine{c, 0}; });
}
bool FoldsDivisor(Match& m) {
  return Folds(m, [](double c) { return Affine{1 / c, 0}; });
}
bool FoldsSummand(Match& m) {
  return Folds(m, [](double c) { return Affine{1, c}; });
}
bool FoldsSubtrahend(Match& m) {
  return Folds(m, [](double c) { return Affine{1, -c}; });
}

constexpr char kScaled[] = "$y(x, DequantizeLinear(w, s, z; axis=0), b)";

// clang-format off
constexpr Rule kRules[] = {
    {.name = "normalization", .match = {"BatchNormalization(conv, scale, shift, mean, variance; epsilon=$epsilon)", kConv}, .replace = kScaled, .when = FoldsNorm},
    {.name = "product", .match = {"Mul(conv, c)", kConv}, .replace = kScaled, .when = FoldsFactor},
    {.name = "quotient", .match = {"Div(conv, c)", kConv}, .replace = kScaled, .when = FoldsDivisor},
    {.name = "sum", .match = {"Add(conv, c)", kConv}, .replace = kScaled, .when = FoldsSummand},
    {.name = "difference", .match = {"Sub(conv, c)", kConv}, .replace = kScaled, .when = FoldsSubtrahend},
};
// clang-format on

}  // namespace

constinit const Pass kFuseQuantizedConvScale = {
    .name = "fuse_quantized_conv_scale", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
