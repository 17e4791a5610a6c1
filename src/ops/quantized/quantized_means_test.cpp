// ops/quantized/quantized_means_test.cpp - 8-bit means and pools against sums in double, and how results halfway
// between two integers are rounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/quantized/quantized_test.h"

namespace sardonyx::ops {
namespace {

using testing::Elements;

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

TEST(QLinearMeans, OfNothingAreWhatQuantizeLinearMakesOfNaN) {
  const Tensor x(DType::kUInt8, Shape{2, 3, 0, 4});
  const Tensor nan = Tensor::Scalar(std::numeric_limits<float>::quiet_NaN());
  Tensor zero(DType::kUInt8, Shape{});
  *zero.data<std::uint8_t>() = 9;
  const auto expected = testing::EvaluateOp({.op = "QuantizeLinear",
                                             .version = 21,
                                             .inputs = {nan, Tensor::Scalar(0.1f), zero},
                                             .attributes = {},
                                             .domain = ""});
  const std::uint8_t want = Elements<std::uint8_t>(expected[0])[0];
  const auto mean = Compute8("QLinearReduceMean", Inputs<std::uint8_t>({{x, 0.1f, 2}}, 0.1f, 9),
                             {{"axes", std::vector<std::int64_t>{2}}, {"keepdims", std::int64_t{0}}});
  EXPECT_EQ(mean[0].tensor().shape(), (Shape{2, 3, 4}));
  EXPECT_EQ(Elements<std::uint8_t>(mean[0]), std::vector<std::uint8_t>(24, want));
  const auto pool = Compute8("QLinearGlobalAveragePool", Inputs<std::uint8_t>({{x, 0.1f, 2}}, 0.1f, 9));
  EXPECT_EQ(Elements<std::uint8_t>(pool[0]), std::vector<std::uint8_t>(6, want));
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

}  // namespace
}  // namespace sardonyx::ops
