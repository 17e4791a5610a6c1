// ops/math/softmax_test.cpp - Softmax, LogSoftmax and Hardmax over rows and columns, old versions, masks and refusals.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/softmax/softmax_f32.h"
#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;

std::vector<double> Want(const std::vector<float>& x) {
  double max = -INFINITY, sum = 0;
  for (const float v : x) max = std::max(max, static_cast<double>(v));
  for (const float v : x) sum += std::exp(static_cast<double>(v) - max);
  std::vector<double> y;
  for (const float v : x) y.push_back(std::exp(static_cast<double>(v) - max) / sum);
  return y;
}

TEST(SoftmaxF32, EveryVariantMatchesFloat64) {
  for (const auto& [isa, row] : kernels::Runnable(kernels::SoftmaxRowVariants())) {
    for (const std::size_t n : {1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 100, 1023, 1024, 1025, 3000}) {
      std::vector<float> x(n), y(n), log(n);
      for (std::size_t i = 0; i < n; ++i) x[i] = 10 * std::sin(0.7f * static_cast<float>(i));
      row(x.data(), static_cast<std::int64_t>(n), false, y.data());
      row(x.data(), static_cast<std::int64_t>(n), true, log.data());
      const std::vector<double> want = Want(x);
      for (std::size_t i = 0; i < n; ++i) {
        const double tolerance = 1e-6 - 0x1p-24 * std::log(want[i]);  // the difference to the maximum is rounded
        EXPECT_NEAR(y[i], want[i], tolerance * want[i]) << Name(isa) << " n=" << n << " i=" << i;
        EXPECT_NEAR(log[i], std::log(want[i]), 2e-6 * std::max(1.0, -std::log(want[i]))) << Name(isa) << " n=" << n;
      }
    }
  }
}

TEST(SoftmaxF32, ColumnsMatchRows) {
  for (const auto& [isa, columns] : kernels::Runnable(kernels::SoftmaxColumnsVariants())) {
    for (const std::int64_t inner : {2, 15, 16, 17, 40}) {
      const std::int64_t n = 9;
      std::vector<float> x(static_cast<std::size_t>(n * inner)), y(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = 5 * std::cos(1.3f * static_cast<float>(i));
      columns(x.data(), n, inner, inner, false, y.data());
      for (std::int64_t c = 0; c < inner; ++c) {
        std::vector<float> column;
        for (std::int64_t i = 0; i < n; ++i) column.push_back(x[i * inner + c]);
        const std::vector<double> want = Want(column);
        for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(y[i * inner + c], want[i], 1e-6 * want[i]) << Name(isa);
      }
    }
  }
}

TEST(Softmax, GivesMaskedElementsExactlyZero) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Elements<float>(EvaluateOp({"Softmax", 13, {Floats({1, -inf, 1})}})[0]),
            (std::vector<float>{0.5f, 0, 0.5f}));
  EXPECT_TRUE(std::isnan(Elements<float>(EvaluateOp({"Softmax", 13, {Floats({-inf, -inf})}})[0])[0]));
}

TEST(Softmax, OfOldVersionsNormalisesTheFlattenedRest) {
  const Tensor x = Tensor::Of<float>({0, 0, 0, 0, 0, 0, 0, 0}, Shape{2, 2, 2});
  EXPECT_EQ(Elements<float>(EvaluateOp({"Softmax", 11, {x}})[0]), (std::vector<float>(8, 0.25f)));
  EXPECT_EQ(Elements<float>(EvaluateOp({"Softmax", 13, {x}})[0]), (std::vector<float>(8, 0.5f)));
}

TEST(Softmax, TakesDoublesAndHalves) {
  const Tensor d = Tensor::Of<double>({0, std::log(3.0)}, Shape{2});
  EXPECT_DOUBLE_EQ(Elements<double>(EvaluateOp({"Softmax", 13, {d}})[0])[1], 0.75);
  const Tensor h = Tensor::Of<BFloat16>({BFloat16(0.0f), BFloat16(0.0f)}, Shape{2});
  EXPECT_EQ(Elements<BFloat16>(EvaluateOp({"Softmax", 13, {h}})[0])[1], BFloat16(0.5f));
}

TEST(Hardmax, MarksTheFirstLargest) {
  const Tensor x = Tensor::Of<float>({1, 3, 3, 2, 0, 0}, Shape{2, 3});
  EXPECT_EQ(Elements<float>(EvaluateOp({"Hardmax", 13, {x}})[0]), (std::vector<float>{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"Hardmax", 13, {x}, {{"axis", std::int64_t{0}}}})[0]),
            (std::vector<float>{0, 1, 1, 1, 0, 0}));
}

TEST(Softmax, RefusesAnAxisBeyondTheRank) {
  const std::string error = ErrorOfOp({"Softmax", 13, {Floats({1})}, {{"axis", std::int64_t{1}}}});
  EXPECT_NE(error.find("1"), std::string::npos) << error;
}

}  // namespace
}  // namespace sardonyx
