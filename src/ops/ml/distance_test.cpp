// ops/ml/distance_test.cpp - com.microsoft.CDist on every ISA against double.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/distance/squared_distance.h"
#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

OpCall Distances(Tensor a, Tensor b, std::vector<Attribute> attributes = {}) {
  return {"CDist", 1, {std::move(a), std::move(b)}, std::move(attributes), 1, "com.microsoft"};
}

TEST(CDist, OfRowsOfTwoMatrices) {
  const Tensor a = Tensor::Of<float>({0, 0, 3, 4}, Shape{2, 2}), b = Tensor::Of<float>({0, 0, 3, 0, 3, 4}, Shape{3, 2});
  EXPECT_EQ(Elements<float>(EvaluateOp(Distances(a, b))[0]), (std::vector<float>{0, 9, 25, 25, 16, 0}));
  EXPECT_EQ(Elements<float>(EvaluateOp(Distances(a, b, {{"metric", std::string("euclidean")}}))[0]),
            (std::vector<float>{0, 3, 5, 5, 4, 0}));
  // Near points far from the origin keep their digits.
  const Tensor far = Tensor::Of<double>({1e9 + 1}, Shape{1, 1}), near = Tensor::Of<double>({1e9 + 2}, Shape{1, 1});
  EXPECT_EQ(Elements<double>(EvaluateOp(Distances(far, near))[0]), (std::vector<double>{1}));
}

TEST(CDist, EmptyMatricesAndRowsWithoutElements) {
  EXPECT_EQ(
      EvaluateOp(Distances(Tensor(DType::kFloat, Shape{0, 2}), Tensor(DType::kFloat, Shape{3, 2})))[0].tensor().shape(),
      (Shape{0, 3}));
  EXPECT_EQ(
      Elements<float>(EvaluateOp(Distances(Tensor(DType::kFloat, Shape{1, 0}), Tensor(DType::kFloat, Shape{2, 0})))[0]),
      (std::vector<float>{0, 0}));
}

TEST(CDist, RefusesOtherMetricsAndLengths) {
  const Tensor a(DType::kFloat, Shape{1, 2}), b(DType::kFloat, Shape{1, 3});
  EXPECT_NE(ErrorOfOp(Distances(a, b)).find("rows of one length, found [1, 2] and [1, 3]"), std::string::npos);
  EXPECT_NE(ErrorOfOp(Distances(a, a, {{"metric", std::string("cosine")}})).find("found 'cosine'"), std::string::npos);
}

TEST(CDist, EveryIsaAndLength) {
  for (const auto& [isa, distances] : kernels::Runnable(kernels::SquaredDistancesF32Variants())) {
    for (const std::int64_t n : {1, 15, 63, 64, 65, 130}) {
      for (const std::int64_t k : {1, 5, 16}) {
        std::vector<float> a(static_cast<std::size_t>(k)), b(static_cast<std::size_t>(n * k)),
            y(static_cast<std::size_t>(n)), points(static_cast<std::size_t>(kernels::PackedPointCount(n, k)));
        for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i) / 3;
        for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 17) / 7;
        kernels::PackPoints(b.data(), n, k, points.data());
        distances(a.data(), k, points.data(), n, y.data());
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t i = 0; i < k; ++i) sum += std::pow(double{a[i]} - double{b[j * k + i]}, 2);
          EXPECT_NEAR(y[j], sum, sum * static_cast<double>(k + 2) * 1.2e-7) << Name(isa) << ' ' << n << ' ' << k;
        }
      }
    }
  }
}

}  // namespace
}  // namespace sardonyx::testing
