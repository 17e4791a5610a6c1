// ops/quantized_operators_test.cpp - the 8-bit operators of com.microsoft against sums in double, all kernel variants,
// and their errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementwise/quantized_binary.h"
#include "kernels/reduce/sum8.h"
#include "kernels/softmax/softmax_u8.h"
#include "testing/evaluate_op.h"

namespace sardonyx::ops {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;

template <typename T>
Tensor Bytes(Shape shape, std::uint32_t seed) {
  Tensor tensor(kDTypeOf<T>, shape);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    seed = seed * 1664525 + 1013904223;
    tensor.data<T>()[i] = static_cast<T>(seed >> 24);
  }
  return tensor;
}

template <typename T>
int Quantized(double value, int zero) {
  const double whole = std::nearbyint(value) + zero;
  return static_cast<int>(std::fmin(std::fmax(whole, std::numeric_limits<T>::min()), std::numeric_limits<T>::max()));
}

// At most one quantum apart, where a rounding of the scales decides.
template <typename T>
void ExpectClose(const Value& got, const std::vector<double>& want, double scale, int zero) {
  const auto elements = Elements<T>(got);
  ASSERT_EQ(elements.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double exact = want[i] / scale;
    const bool tie = std::abs(std::abs(exact - std::floor(exact)) - 0.5) < 1e-3;
    EXPECT_NEAR(elements[i], Quantized<T>(exact, zero), tie ? 1 : 0) << "element " << i;
  }
}

struct Scaled {
  Tensor data;
  float scale;
  int zero;
};

template <typename T>
std::vector<Value> Inputs(std::initializer_list<Scaled> tensors, float scale, int zero) {
  std::vector<Value> inputs;
  for (const Scaled& t : tensors) {
    inputs.emplace_back(t.data);
    inputs.emplace_back(Tensor::Scalar(t.scale));
    inputs.emplace_back(Tensor::Scalar(static_cast<T>(t.zero)));
  }
  inputs.emplace_back(Tensor::Scalar(scale));
  inputs.emplace_back(Tensor::Scalar(static_cast<T>(zero)));
  return inputs;
}

std::vector<Value> Compute8(std::string_view op, const std::vector<Value>& inputs,
                            const std::vector<Attribute>& attributes = {}) {
  return EvaluateOp({.op = op, .version = 1, .inputs = inputs, .attributes = attributes, .domain = "com.microsoft"});
}

template <typename T>
void CheckBinary(Shape shape_a, Shape shape_b) {
  const Tensor a = Bytes<T>(shape_a, 1), b = Bytes<T>(shape_b, 2);
  const int za = 7, zb = -3 + (std::is_signed_v<T> ? 0 : 100), zy = 5;
  for (const bool product : {false, true}) {
    const float scale = product ? 1.7f : 0.09f;
    const auto y =
        Compute8(product ? "QLinearMul" : "QLinearAdd", Inputs<T>({{a, 0.03f, za}, {b, 0.05f, zb}}, scale, zy));
    std::vector<double> want;
    for (std::int64_t i = 0; i < std::max(a.count(), b.count()); ++i) {
      const double p = (a.data<T>()[i % a.count()] - za) * static_cast<double>(0.03f);
      const double q = (b.data<T>()[i % b.count()] - zb) * static_cast<double>(0.05f);
      want.push_back(product ? p * q : p + q);
    }
    ExpectClose<T>(y[0], want, static_cast<double>(scale), zy);
  }
}

TEST(QLinearBinary, AddsAndMultipliesWithBroadcasting) {
  for (const std::int64_t n : {0, 1, 15, 16, 17, 63, 64, 65, 1000}) {
    CheckBinary<std::uint8_t>(Shape{3, n}, Shape{3, n});
    CheckBinary<std::int8_t>(Shape{3, n}, Shape{3, n});
    if (n == 0) continue;
    CheckBinary<std::uint8_t>(Shape{3, n}, Shape{n});
    CheckBinary<std::int8_t>(Shape{n}, Shape{3, n});
    CheckBinary<std::uint8_t>(Shape{3, n}, Shape{});
    CheckBinary<std::int8_t>(Shape{1}, Shape{3, n});
  }
}

TEST(QLinearBinary, RefusesScalesOfAnAxisAndTwoTypes) {
  std::vector<Value> inputs = Inputs<std::uint8_t>(
      {{Bytes<std::uint8_t>(Shape{2, 3}, 1), 1, 0}, {Bytes<std::uint8_t>(Shape{2, 3}, 2), 1, 0}}, 1, 0);
  inputs[1] = testing::Floats({1, 2, 3});
  EXPECT_NE(ErrorOfOp({.op = "QLinearAdd", .version = 1, .inputs = inputs, .domain = "com.microsoft"})
                .find("expected one scale, found shape [3]"),
            std::string::npos);
}

TEST(QLinearBinary, VariantsAgree) {
  const Tensor a = Bytes<std::uint8_t>(Shape{301}, 5), b = Bytes<std::uint8_t>(Shape{301}, 6);
  for (const auto kind : {kernels::QuantizedKind::kAdd, kernels::QuantizedKind::kMul}) {
    for (const bool is_signed : {false, true}) {
      std::vector<std::uint8_t> first;
      for (const auto& [isa, table] : kernels::QuantizedVariants()) {
        if (!kernels::Supported(isa)) continue;
        std::vector<std::uint8_t> y(301);
        const kernels::QuantizedBinaryArgs args{0.25f, 0.5f, 3, 4, 5, 2.25f};
        table().binary(kind, is_signed, false)(a.raw(), b.raw(), args, y.size(), y.data());
        if (first.empty()) first = y;
        EXPECT_EQ(y, first) << kernels::Name(isa);
      }
    }
  }
}

// y = round(a * a_scale + (b * b_scale + constant)), in float.
std::vector<int> SumsInOrder(const Tensor& a, const Tensor& b, const kernels::QuantizedBinaryArgs& args, bool fused) {
  std::vector<int> sums;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    const float p = a.data<std::uint8_t>()[i], q = b.data<std::uint8_t>()[b.count() == 1 ? 0 : i];
    volatile float product = q * args.b_scale;  // so that no compiler fuses it
    const float second = fused ? std::fma(q, args.b_scale, args.constant) : product + args.constant;
    product = p * args.a_scale;
    const float sum = fused ? std::fma(p, args.a_scale, second) : product + second;
    sums.push_back(Quantized<std::uint8_t>(static_cast<double>(sum), 0));
  }
  return sums;
}

// Those of ONNX Runtime, where the CPU fuses multiplications and additions.
TEST(QLinearBinary, SumsHaveOneOrderOfFloatOperations) {
  const Tensor a = Bytes<std::uint8_t>(Shape{40000}, 5), many = Bytes<std::uint8_t>(Shape{40000}, 6),
               one = Bytes<std::uint8_t>(Shape{}, 7);
  for (const auto& [isa, table] : kernels::QuantizedVariants()) {
    if (!kernels::Supported(isa)) continue;
    for (int k = 1; k < 60; ++k) {
      const float y_scale = 0.01f * static_cast<float>(k + 7);
      kernels::QuantizedBinaryArgs args{.a_scale = 0.01f * static_cast<float>(k) / y_scale, .b_scale = 0.05f / y_scale};
      args.constant = 3 - (args.a_scale * 77 + args.b_scale * 100);
      for (const Tensor& b : {many, one}) {
        std::vector<std::uint8_t> y(40000);
        const bool repeats = b.count() == 1;
        table().binary(kernels::QuantizedKind::kAdd, false, repeats)(a.raw(), b.raw(), args, y.size(), y.data());
        const std::vector<int> got(y.begin(), y.end());
        const bool may_fuse = isa != kernels::Isa::baseline || got != SumsInOrder(a, b, args, false);
        EXPECT_EQ(got, SumsInOrder(a, b, args, may_fuse)) << kernels::Name(isa) << " " << k;
      }
    }
  }
}

// The zero points are taken together before any element: zero - fma(a_scale, a_zero, b_scale * b_zero), and with one
// element of A the operands change places.
TEST(QLinearBinary, ZeroPointsOfSumsMakeOneConstant) {
  const Tensor many = Bytes<std::uint8_t>(Shape{40000}, 5), one = Bytes<std::uint8_t>(Shape{}, 7);
  for (int k = 1; k < 60; ++k) {
    const float scale = 0.01f * static_cast<float>(k), y_scale = 0.01f * static_cast<float>(k + 7);
    for (const bool swapped : {false, true}) {
      const Scaled a{many, scale, 77}, b{swapped ? one : many, 0.05f, 100};
      const auto y = swapped ? Compute8("QLinearAdd", Inputs<std::uint8_t>({b, a}, y_scale, 9))
                             : Compute8("QLinearAdd", Inputs<std::uint8_t>({a, b}, y_scale, 9));
      kernels::QuantizedBinaryArgs args{.a_scale = scale / y_scale, .b_scale = 0.05f / y_scale};
      const volatile float product = args.b_scale * 100;
      args.constant = 9 - std::fma(args.a_scale, 77.0f, product);
      const auto bytes = Elements<std::uint8_t>(y[0]);
      const std::vector<int> got(bytes.begin(), bytes.end());
      const bool fused = got != SumsInOrder(many, b.data, args, false) || kernels::Supported(kernels::Isa::avx2);
      EXPECT_EQ(got, SumsInOrder(many, b.data, args, fused)) << k << (swapped ? " swapped" : "");
    }
  }
}

// Sums and products that lie in the middle of two bytes: the even byte, whatever the zero point is.
TEST(QLinearBinary, HalvesGoToTheEvenResult) {
  const Tensor a = Bytes<std::uint8_t>(Shape{1001}, 5), b = Bytes<std::uint8_t>(Shape{1001}, 6);
  for (const int zero : {0, 1, 97, 128}) {
    for (const float scale : {0.5f, 0.7f, 0.013f}) {
      const auto sum = Elements<std::uint8_t>(
          Compute8("QLinearAdd", Inputs<std::uint8_t>({{a, scale, 3}, {b, scale, 100}}, 2 * scale, zero))[0]);
      const auto product = Elements<std::uint8_t>(
          Compute8("QLinearMul", Inputs<std::uint8_t>({{a, scale, 128}, {b, 1, 128}}, 128 * scale, zero))[0]);
      for (std::size_t i = 0; i < 1001; ++i) {
        const int p = a.data<std::uint8_t>()[i], q = b.data<std::uint8_t>()[i];
        EXPECT_EQ(sum[i], Quantized<std::uint8_t>((p + q - 103) / 2.0 + zero, 0));
        EXPECT_EQ(product[i], Quantized<std::uint8_t>((p - 128) * (q - 128) / 128.0 + zero, 0));
      }
    }
  }
}

// The product is rounded before the zero point is added, also where the CPU multiplies and adds at once.
TEST(QLinearBinary, ProductsAreRoundedOnce) {
  const Tensor a = Bytes<std::uint8_t>(Shape{40000}, 5), b = Bytes<std::uint8_t>(Shape{40000}, 6);
  for (const auto& [isa, table] : kernels::QuantizedVariants()) {
    if (!kernels::Supported(isa)) continue;
    for (int k = 1; k < 60; ++k) {
      const kernels::QuantizedBinaryArgs args{0.1f * static_cast<float>(k) * 0.01f, 0, 77, 100, 97, 0};
      std::vector<std::uint8_t> y(40000);
      table().binary(kernels::QuantizedKind::kMul, false, false)(a.raw(), b.raw(), args, y.size(), y.data());
      int wrong = 0;
      for (std::size_t i = 0; i < 40000; ++i) {
        const int p = a.data<std::uint8_t>()[i] - 77, q = b.data<std::uint8_t>()[i] - 100;
        const volatile float product = static_cast<float>(p * q) * args.a_scale;
        wrong += y[i] != Quantized<std::uint8_t>(static_cast<double>(product + 97), 0);
      }
      EXPECT_EQ(wrong, 0) << kernels::Name(isa) << " " << k;
    }
  }
}

TEST(Dequantize8, EveryVariantAndLengthIsExact) {
  const Tensor x = Bytes<std::uint8_t>(Shape{301}, 23);
  for (const auto& [isa, table] : kernels::QuantizedVariants()) {
    if (!kernels::Supported(isa)) continue;
    for (const std::size_t n : {1u, 3u, 4u, 15u, 16u, 17u, 301u}) {
      std::vector<float> plain(n), of_signed(n);
      table().dequantize_unsigned(x.data<std::uint8_t>(), 0.3f, 7, n, plain.data());
      table().dequantize_signed(x.data<std::uint8_t>(), 0.3f, 7, n, of_signed.data());
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint8_t byte = x.data<std::uint8_t>()[i];
        EXPECT_EQ(plain[i], static_cast<float>(byte - 7) * 0.3f) << kernels::Name(isa);
        EXPECT_EQ(of_signed[i], static_cast<float>(static_cast<std::int8_t>(byte) - 7) * 0.3f) << kernels::Name(isa);
      }
    }
  }
}

TEST(Lookup8, TakesEveryByteFromTheTable) {
  Tensor table(DType::kInt8, Shape{256});
  for (int i = 0; i < 256; ++i) table.data<std::int8_t>()[i] = static_cast<std::int8_t>(127 - i);
  for (const std::int64_t n : {0, 1, 7, 8, 9, 70, 300}) {
    const Tensor x = Bytes<std::uint8_t>(Shape{n}, 3);
    const auto y = Elements<std::int8_t>(
        EvaluateOp({.op = "Lookup8", .version = 1, .inputs = {x, table}, .domain = "ai.sardonyx"})[0]);
    for (std::int64_t i = 0; i < n; ++i)
      EXPECT_EQ(y[static_cast<std::size_t>(i)], static_cast<std::int8_t>(127 - x.data<std::uint8_t>()[i]));
  }
  EXPECT_NE(ErrorOfOp({.op = "Lookup8",
                       .version = 1,
                       .inputs = {Bytes<std::uint8_t>(Shape{2}, 1), Bytes<std::uint8_t>(Shape{2}, 1)},
                       .domain = "ai.sardonyx"})
                .find("expected 256 elements, found 2"),
            std::string::npos);
}

TEST(QLinearFunctions, AreTheFloatOnesRounded) {
  const Tensor x = Bytes<std::int8_t>(Shape{5, 60}, 4);
  std::vector<double> sigmoid, leaky;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    const double value = (x.data<std::int8_t>()[i] - 3) * static_cast<double>(0.04f);
    sigmoid.push_back(1 / (1 + std::exp(-value)));
    leaky.push_back(value < 0 ? value * static_cast<double>(0.3f) : value);
  }
  ExpectClose<std::int8_t>(Compute8("QLinearSigmoid", Inputs<std::int8_t>({{x, 0.04f, 3}}, 0.004f, -120))[0], sigmoid,
                           static_cast<double>(0.004f), -120);
  ExpectClose<std::int8_t>(
      Compute8("QLinearLeakyRelu", Inputs<std::int8_t>({{x, 0.04f, 3}}, 0.05f, 1), {{"alpha", 0.3f}})[0], leaky,
      static_cast<double>(0.05f), 1);
}

// x [a, b, c]: the means of its rows, columns and planes.
template <typename T>
void CheckMean(Shape shape, std::vector<std::int64_t> axes, bool keeps) {
  const Tensor x = Bytes<T>(shape, 9);
  std::vector<double> sums;
  std::int64_t total = 1;
  Shape kept;
  std::vector<bool> reduced(shape.rank(), false);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = true;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    if (reduced[d]) total *= shape[d];
    if (!reduced[d]) kept.Append(shape[d]);
    if (reduced[d] && keeps) kept.Append(1);
  }
  sums.resize(static_cast<std::size_t>(x.count() / total));
  for (std::int64_t i = 0; i < x.count(); ++i) {
    std::int64_t rest = i, at = 0, step = 1;
    for (std::size_t d = shape.rank(); d-- > 0;) {
      if (!reduced[d]) at += rest % shape[d] * step, step *= shape[d];
      rest /= shape[d];
    }
    sums[static_cast<std::size_t>(at)] += (x.data<T>()[i] - 2) * static_cast<double>(0.1f);
  }
  for (double& sum : sums) sum /= static_cast<double>(total);
  const auto y = Compute8("QLinearReduceMean", Inputs<T>({{x, 0.1f, 2}}, 0.03f, 9),
                          {{"axes", axes}, {"keepdims", std::int64_t{keeps}}});
  EXPECT_EQ(y[0].tensor().shape(), kept);
  ExpectClose<T>(y[0], sums, static_cast<double>(0.03f), 9);
}

TEST(QLinearMeans, ReduceAnyAxes) {
  for (const bool keeps : {false, true}) {
    for (const auto& axes : std::vector<std::vector<std::int64_t>>{{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}}) {
      CheckMean<std::uint8_t>(Shape{3, 5, 70}, axes, keeps);
      CheckMean<std::int8_t>(Shape{4, 70, 3}, axes, keeps);
      CheckMean<std::uint8_t>(Shape{1, 3, 1100}, axes, keeps);
    }
  }
}

TEST(QLinearMeans, PoolEitherLayout) {
  const Tensor x = Bytes<std::uint8_t>(Shape{2, 3, 5, 7}, 11);
  const auto first = Compute8("QLinearGlobalAveragePool", Inputs<std::uint8_t>({{x, 0.1f, 2}}, 0.1f, 9));
  EXPECT_EQ(first[0].tensor().shape(), (Shape{2, 3, 1, 1}));
  const auto last = Compute8("QLinearGlobalAveragePool", Inputs<std::uint8_t>({{x, 0.1f, 2}}, 0.1f, 9),
                             {{"channels_last", std::int64_t{1}}});
  EXPECT_EQ(last[0].tensor().shape(), (Shape{2, 1, 1, 7}));
  double sum = 0;
  for (int i = 0; i < 35; ++i) sum += x.data<std::uint8_t>()[i];
  EXPECT_NEAR(Elements<std::uint8_t>(first[0])[0], Quantized<std::uint8_t>(sum / 35 - 2, 9), 1);
  sum = 0;
  for (int i = 0; i < 15; ++i) sum += x.data<std::uint8_t>()[105 + 7 * i + 6];
  EXPECT_NEAR(Elements<std::uint8_t>(last[0])[13], Quantized<std::uint8_t>(sum / 15 - 2, 9), 1);
}

// Windows of `kernel` with `pads` on all sides, in either layout; those at the border have fewer elements.
struct PoolCase {
  std::int64_t kernel, stride, pads;
  bool counts_pads, last;
  float x_scale, y_scale;
  int x_zero, y_zero;
};

// Means of x [height, width, channels] (times the quotient of the scales, plus the zero point), in the order of y.
template <typename T>
std::vector<double> PoolMeans(const PoolCase& p, const Tensor& x) {
  const std::int64_t height = x.shape()[p.last ? 1 : 2], width = x.shape()[p.last ? 2 : 3];
  const std::int64_t channels = x.shape()[p.last ? 3 : 1];
  const std::int64_t rows = (height + 2 * p.pads - p.kernel) / p.stride + 1;
  const std::int64_t columns = (width + 2 * p.pads - p.kernel) / p.stride + 1;
  std::vector<double> means(static_cast<std::size_t>(rows * columns * channels));
  for (std::int64_t i = 0; i < rows * columns * channels; ++i) {
    const std::int64_t c = p.last ? i % channels : i / (rows * columns);
    const std::int64_t at = p.last ? i / channels : i % (rows * columns);
    double sum = 0, count = 0;
    for (std::int64_t k = 0; k < p.kernel * p.kernel; ++k) {
      const std::int64_t h = at / columns * p.stride - p.pads + k / p.kernel;
      const std::int64_t w = at % columns * p.stride - p.pads + k % p.kernel;
      if (h < 0 || w < 0 || h >= height || w >= width) continue;
      sum += x.data<T>()[p.last ? (h * width + w) * channels + c : (c * height + h) * width + w] - p.x_zero;
      count += 1;
    }
    if (p.counts_pads) count = static_cast<double>(p.kernel * p.kernel);
    means[static_cast<std::size_t>(i)] =
        sum / count * (static_cast<double>(p.x_scale) / static_cast<double>(p.y_scale)) + p.y_zero;
  }
  return means;
}

// Equal unless the scales leave the mean beside a half by less than they are rounded; returns how many halves there
// are.
template <typename T>
int CheckPool(const PoolCase& p) {
  const Tensor x = Bytes<T>(p.last ? Shape{1, 9, 21, 19} : Shape{1, 19, 9, 21}, 31);
  const auto y = Compute8("QLinearAveragePool", Inputs<T>({{x, p.x_scale, p.x_zero}}, p.y_scale, p.y_zero),
                          {{"kernel_shape", std::vector<std::int64_t>{p.kernel, p.kernel}},
                           {"strides", std::vector<std::int64_t>{p.stride, p.stride}},
                           {"pads", std::vector<std::int64_t>(4, p.pads)},
                           {"count_include_pad", std::int64_t{p.counts_pads}},
                           {"channels_last", std::int64_t{p.last}}});
  const auto got = Elements<T>(y[0]);
  const std::vector<double> means = PoolMeans<T>(p, x);
  EXPECT_EQ(got.size(), means.size());
  int halves = 0;
  for (std::size_t i = 0; i < std::min(got.size(), means.size()); ++i) {
    const double beside = std::abs(std::abs(means[i] - std::floor(means[i])) - 0.5);
    halves += beside == 0;
    EXPECT_NEAR(got[i], Quantized<T>(means[i], 0), beside != 0 && beside < 1e-4 ? 1 : 0)
        << "element " << i << " of mean " << means[i] << ", kernel " << p.kernel << ", scale " << p.x_scale;
  }
  return halves;
}

// Scales whose product with a number, divided by them again, is not always that number.
TEST(QLinearAveragePool, HalvesGoToTheEvenResult) {
  int halves = 0;
  for (const float scale : {0.1f, 0.7f, 0.013f, 0.0371f, 1.9f, 1e-30f}) {
    for (const float quotient : {1.0f, 2.0f, 0.5f}) {
      for (const bool last : {false, true}) {
        for (const std::int64_t kernel : {1, 2, 3, 4}) {
          const PoolCase p{
              kernel, 1 + kernel % 2, kernel / 2, kernel == 3 && quotient == 1, last, scale, scale * quotient, 130, 0};
          PoolCase odd = p, of_signed = p;
          odd.y_zero = 97;
          of_signed.x_zero = -7, of_signed.y_zero = 3;
          halves += CheckPool<std::uint8_t>(p) + CheckPool<std::uint8_t>(odd) + CheckPool<std::int8_t>(of_signed);
        }
      }
    }
  }
  EXPECT_GT(halves, 10000);
}

TEST(QLinearAveragePool, IsTheMeanOfAnyScales) {
  for (const bool last : {false, true}) {
    for (const bool counts : {false, true}) {
      for (const float y_scale : {0.05f, 0.0771f, 3e-39f, 2e38f}) {
        CheckPool<std::uint8_t>({3, 1, 1, counts, last, 0.06f, y_scale, 120, 60});
        CheckPool<std::int8_t>({2, 2, 0, counts, last, 0.06f, y_scale, -3, 11});
      }
    }
  }
  // The quotient of the scales is below all floats: what is not 0 saturates.
  Tensor x(DType::kUInt8, Shape{1, 1, 1, 3});
  for (int i = 0; i < 3; ++i) x.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(9 + i);
  const auto y = Compute8("QLinearAveragePool", Inputs<std::uint8_t>({{x, 3e38f, 10}}, 1e-38f, 5),
                          {{"kernel_shape", std::vector<std::int64_t>{1, 1}}});
  EXPECT_EQ(Elements<std::uint8_t>(y[0]), (std::vector<std::uint8_t>{0, 5, 255}));
}

// The sum of row `row` of x, without its zero points.
template <typename T>
double RowSum(const Tensor& x, std::int64_t row, int zero) {
  const std::int64_t n = x.shape()[1];
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x.data<T>()[row * n + i] - zero;
  return sum;
}

TEST(QLinearMeans, HalvesOfReduceMeanGoToTheEvenQuotient) {
  for (const std::int64_t n : {2, 4, 6, 14, 24, 56}) {
    for (const float scale : {0.1f, 0.7f, 0.013f, 0.0371f, 1.9f}) {
      const Tensor x = Bytes<std::uint8_t>(Shape{700, n}, 17);
      const auto y =
          Elements<std::uint8_t>(Compute8("QLinearReduceMean", Inputs<std::uint8_t>({{x, scale, 3}}, scale, 9),
                                          {{"axes", std::vector<std::int64_t>{1}}})[0]);
      for (std::int64_t i = 0; i < 700; ++i)
        EXPECT_EQ(y[static_cast<std::size_t>(i)],
                  Quantized<std::uint8_t>(RowSum<std::uint8_t>(x, i, 3) / static_cast<double>(n), 9));
    }
  }
}

// A sum times one factor, in float.
TEST(QLinearMeans, PoolsAreOnnxRuntimesInEveryBit) {
  for (const std::int64_t n : {2, 6, 7, 12, 14, 24, 49, 196}) {
    for (const float scale : {0.1f, 0.7f, 0.013f, 0.0371f, 1.9f}) {
      Tensor x = Bytes<std::int8_t>(Shape{700, n}, 19);
      const Tensor image = Bytes<std::int8_t>(Shape{1, 700, n}, 19);
      for (const float y_scale : {scale, 0.8f * scale}) {
        const float factor = scale / (y_scale * static_cast<float>(n));
        const auto y = Elements<std::int8_t>(
            Compute8("QLinearGlobalAveragePool", Inputs<std::int8_t>({{image, scale, -5}}, y_scale, 7))[0]);
        for (std::int64_t i = 0; i < 700; ++i) {
          const float quotient = static_cast<float>(RowSum<std::int8_t>(x, i, -5)) * factor;
          EXPECT_EQ(y[static_cast<std::size_t>(i)], Quantized<std::int8_t>(static_cast<double>(quotient), 7));
        }
      }
    }
  }
  const Tensor x = Bytes<std::uint8_t>(Shape{1, 5, 4}, 3);
  for (const auto& [from, to] : {std::pair{3e38f, 1e-38f}, std::pair{1e-38f, 3e38f}}) {
    const auto y =
        Elements<std::uint8_t>(Compute8("QLinearGlobalAveragePool", Inputs<std::uint8_t>({{x, from, 10}}, to, 5))[0]);
    for (const std::uint8_t element : y) EXPECT_EQ(element, from > to ? 255 : 5);
    Tensor zeros(DType::kUInt8, Shape{1, 5, 4});  // sums of 0
    std::fill_n(zeros.data<std::uint8_t>(), 20, std::uint8_t{10});
    const auto none = Elements<std::uint8_t>(
        Compute8("QLinearGlobalAveragePool", Inputs<std::uint8_t>({{zeros, from, 10}}, to, 5))[0]);
    EXPECT_EQ(none, std::vector<std::uint8_t>(5, 5));
  }
}

TEST(QLinearSoftmax, NormalizesRowsColumnsAndAllFromAnAxisOn) {
  const Tensor x = Bytes<std::uint8_t>(Shape{2, 3, 4}, 13);
  const auto check = [&](std::int64_t axis, std::int64_t opset, std::int64_t n, std::int64_t inner) {
    const auto y = Compute8("QLinearSoftmax", Inputs<std::uint8_t>({{x, 0.02f, 2}}, 1.0f / 256, 0),
                            {{"axis", axis}, {"opset", opset}});
    std::vector<double> want(24);
    for (std::int64_t i = 0; i < 24; ++i) {
      double sum = 0;
      const std::int64_t base = i / (n * inner) * n * inner + i % inner;
      for (std::int64_t k = 0; k < n; ++k)
        sum += std::exp((x.data<std::uint8_t>()[base + k * inner] - x.data<std::uint8_t>()[i]) * 0.02);
      want[static_cast<std::size_t>(i)] = 1 / sum;
    }
    ExpectClose<std::uint8_t>(y[0], want, 1.0 / 256, 0);
  };
  check(-1, 13, 4, 1);
  check(1, 13, 3, 4);
  check(0, 13, 2, 12);
  check(1, 11, 12, 1);
}

// Column `column` of x [n, stride] against its softmax in double.
void CheckSoftmax(const Tensor& x, const std::vector<std::uint8_t>& y, std::int64_t n, std::int64_t stride,
                  std::int64_t column, const kernels::SoftmaxBytesArgs& args) {
  const auto value = [&](std::int64_t i) {
    const std::uint8_t byte = x.data<std::uint8_t>()[i * stride + column];
    return (args.is_signed ? static_cast<std::int8_t>(byte) : int{byte}) * static_cast<double>(args.x_scale);
  };
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += std::exp(value(i));
  for (std::int64_t i = 0; i < n; ++i) {
    const double exact = std::exp(value(i)) / sum / static_cast<double>(args.y_scale);
    const int want =
        args.is_signed ? Quantized<std::int8_t>(exact, args.y_zero) : Quantized<std::uint8_t>(exact, args.y_zero);
    const bool tie = std::abs(exact - std::floor(exact) - 0.5) < 1e-3;
    const std::uint8_t byte = y[static_cast<std::size_t>(i * stride + column)];
    EXPECT_NEAR(args.is_signed ? static_cast<std::int8_t>(byte) : int{byte}, want, tie ? 1 : 0)
        << "element " << i << " of " << n << ", column " << column << " of " << stride;
  }
}

TEST(QLinearSoftmax, EveryVariantAndLengthAgreesWithDouble) {
  for (const bool is_signed : {false, true}) {
    for (const std::int64_t n : {1, 3, 4, 15, 16, 17, 100, 130, 2047, 2048, 2049, 5000}) {
      const kernels::SoftmaxBytesArgs args{is_signed, 0.01f, 1.0f / static_cast<float>(8 * n), 7};
      for (const auto& [isa, softmax] : kernels::SoftmaxBytesVariants()) {
        if (!kernels::Supported(isa)) continue;
        const Tensor x = Bytes<std::uint8_t>(Shape{n}, 21);
        std::vector<std::uint8_t> y(static_cast<std::size_t>(n));
        softmax(x.data<std::uint8_t>(), n, args, y.data());
        CheckSoftmax(x, y, n, 1, 0, args);
      }
      for (const auto& [isa, softmax] : kernels::SoftmaxBytesColumnsVariants()) {
        if (!kernels::Supported(isa) || n > 2047) continue;
        for (const std::int64_t columns : {1, 4, 19, 35}) {
          const Tensor x = Bytes<std::uint8_t>(Shape{n, columns}, 22);
          std::vector<std::uint8_t> y(static_cast<std::size_t>(n * columns));
          softmax(x.data<std::uint8_t>(), n, columns, columns, args, y.data());
          for (std::int64_t k = 0; k < columns; ++k) CheckSoftmax(x, y, n, columns, k, args);
        }
      }
    }
  }
}

TEST(QLinearConcat, BringsTensorsToOneScale) {
  const Tensor a = Bytes<std::uint8_t>(Shape{2, 3}, 1), b = Bytes<std::uint8_t>(Shape{2, 20}, 2);
  const auto zero = [](int z) { return Tensor::Scalar(static_cast<std::uint8_t>(z)); };
  const auto y =
      Compute8("QLinearConcat",
               {Tensor::Scalar(0.1f), zero(9), a, Tensor::Scalar(0.1f), zero(9), b, Tensor::Scalar(0.05f), zero(3)},
               {{"axis", std::int64_t{-1}}});
  std::vector<double> want;
  for (int row = 0; row < 2; ++row) {
    for (int i = 0; i < 3; ++i) want.push_back((a.data<std::uint8_t>()[3 * row + i] - 9) * static_cast<double>(0.1f));
    for (int i = 0; i < 20; ++i)
      want.push_back((b.data<std::uint8_t>()[20 * row + i] - 3) * static_cast<double>(0.05f));
  }
  ExpectClose<std::uint8_t>(y[0], want, static_cast<double>(0.1f), 9);
  EXPECT_NE(ErrorOfOp({.op = "QLinearConcat",
                       .version = 1,
                       .inputs = {Tensor::Scalar(0.1f), zero(9), a, Tensor::Scalar(0.1f), zero(9), b,
                                  Tensor::Scalar(0.05f), zero(3)},
                       .attributes = {{"axis", std::int64_t{0}}},
                       .domain = "com.microsoft"})
                .find("expected inputs that differ in dimension 0 only"),
            std::string::npos);
}

TEST(QLinearWhere, ChoosesWithBroadcasting) {
  const Tensor a = Bytes<std::int8_t>(Shape{2, 5}, 1), b = Bytes<std::int8_t>(Shape{5}, 2);
  std::vector<Value> inputs = {Tensor::Of<bool>({true, false}, Shape{2, 1})};
  for (Value& input : Inputs<std::int8_t>({{a, 0.1f, 9}, {b, 0.05f, -3}}, 0.07f, 1)) inputs.push_back(input);
  std::vector<double> want;
  for (int i = 0; i < 5; ++i) want.push_back((a.data<std::int8_t>()[i] - 9) * static_cast<double>(0.1f));
  for (int i = 0; i < 5; ++i) want.push_back((b.data<std::int8_t>()[i] + 3) * static_cast<double>(0.05f));
  ExpectClose<std::int8_t>(Compute8("QLinearWhere", inputs)[0], want, static_cast<double>(0.07f), 1);
}

TEST(Sum8, EveryVariantIsExact) {
  const Tensor x = Bytes<std::uint8_t>(Shape{40, 70}, 17);
  for (const auto& [isa, sum] : kernels::Sum8Variants()) {
    if (!kernels::Supported(isa)) continue;
    for (const std::int64_t columns : {1, 3, 16, 65, 70}) {
      std::vector<std::int32_t> acc(70, 5), row(1, 5);
      sum(x.data<std::uint8_t>(), true, 40, 70, columns, acc.data());
      for (std::int64_t k = 0; k < columns; ++k) {
        std::int32_t want = 5;
        for (std::int64_t i = 0; i < 40; ++i) want += static_cast<std::int8_t>(x.data<std::uint8_t>()[70 * i + k]);
        EXPECT_EQ(acc[static_cast<std::size_t>(k)], want) << kernels::Name(isa);
      }
      sum(x.data<std::uint8_t>(), false, columns, 1, 1, row.data());
      std::int32_t want = 5;
      for (std::int64_t i = 0; i < columns; ++i) want += x.data<std::uint8_t>()[i];
      EXPECT_EQ(row[0], want) << kernels::Name(isa);
    }
  }
}

}  // namespace
}  // namespace sardonyx::ops
