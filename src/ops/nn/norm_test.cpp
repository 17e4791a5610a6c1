// ops/nn/norm_test.cpp - normalisations: statistics, skip connections, old versions, types and refusals.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/norm/affine_f32.h"
#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;

void ExpectNear(const Value& found, const std::vector<double>& want, double tolerance = 2e-6) {
  const std::vector<float> values = Elements<float>(found);
  ASSERT_EQ(values.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(static_cast<double>(values[i]), want[i], tolerance) << i;
}

const Tensor kRows = Tensor::Of<float>({1, 2, 3, 4, 1000, 1001, 1002, 1003}, Shape{2, 4});

TEST(LayerNorm, IsNotHurtByALargeMean) {
  const double s = std::sqrt(1.25);
  const std::vector<Value> y = EvaluateOp(
      {"LayerNormalization", 17, {kRows, Floats({1, 1, 1, 2}), Floats({0, 0, 0, 1})}, {{"epsilon", 0.0f}}, 3});
  ExpectNear(y[0], {-1.5 / s, -0.5 / s, 0.5 / s, 3 / s + 1, -1.5 / s, -0.5 / s, 0.5 / s, 3 / s + 1});
  EXPECT_EQ(y[1].tensor().shape(), (Shape{2, 1}));
  ExpectNear(y[1], {2.5, 1001.5});
  ExpectNear(y[2], {1 / s, 1 / s});
}

TEST(LayerNorm, RootMeanSquareForms) {
  const Tensor x = Tensor::Of<float>({3, 4}, Shape{1, 2});
  const double s = std::sqrt(12.5);
  ExpectNear(EvaluateOp({"RMSNormalization", 23, {x, Floats({1, 2})}, {{"epsilon", 0.0f}}})[0], {3 / s, 8 / s});
  const std::vector<Value> y =
      EvaluateOp({"SkipSimplifiedLayerNormalization",
                  1,
                  {Tensor::Of<float>({1, 1}, Shape{1, 2}), Tensor::Of<float>({2, 3}, Shape{1, 2}), Floats({1, 1})},
                  {{"epsilon", 0.0f}},
                  4,
                  "com.microsoft"});
  ExpectNear(y[0], {3 / s, 4 / s});
  ExpectNear(y[3], {3, 4});
}

TEST(LayerNorm, RefusesAScaleThatDoesNotFit) {
  EXPECT_NE(ErrorOfOp({"LayerNormalization", 17, {kRows, Floats({1, 2})}}).find("[2]"), std::string::npos);
}

TEST(BatchNorm, UsesAndUpdatesRunningStatistics) {
  const Tensor x = Tensor::Of<float>({1, 3, 10, 30}, Shape{1, 2, 2});
  const std::vector<Value> inputs = {x, Floats({1, 2}), Floats({0, 1}), Floats({0, 10}), Floats({1, 4})};
  ExpectNear(EvaluateOp({"BatchNormalization", 15, inputs, {{"epsilon", 0.0f}}})[0], {1, 3, 1, 21});
  const std::vector<Value> y = EvaluateOp({"BatchNormalization",
                                           15,
                                           inputs,
                                           {{"epsilon", 0.0f}, {"training_mode", std::int64_t{1}}, {"momentum", 0.5f}},
                                           3});
  ExpectNear(y[0], {-1, 1, -1, 3});
  ExpectNear(y[1], {1, 15});
  ExpectNear(y[2], {1, 52});
  EXPECT_NE(ErrorOfOp({"BatchNormalization", 15, {x, Floats({1}), Floats({0}), Floats({0}), Floats({1})}}).find("2"),
            std::string::npos);
}

TEST(GroupNorm, NormalisesGroupsAndInstances) {
  const Tensor x = Tensor::Of<float>({1, 3, 5, 7}, Shape{1, 4, 1});
  const std::vector<Attribute> two = {{"num_groups", std::int64_t{2}}, {"epsilon", 0.0f}};
  ExpectNear(EvaluateOp({"GroupNormalization", 21, {x, Floats({1, 1, 2, 2}), Floats({0, 0, 0, 1})}, two})[0],
             {-1, 1, -2, 3});
  ExpectNear(EvaluateOp({"GroupNormalization", 18, {x, Floats({1, 2}), Floats({0, 1})}, two})[0], {-1, 1, -1, 3});
  const Tensor image = Tensor::Of<float>({1, 3, 5, 9}, Shape{1, 2, 2});
  ExpectNear(EvaluateOp({"InstanceNormalization", 22, {image, Floats({1, 1}), Floats({0, 0})}, {{"epsilon", 0.0f}}})[0],
             {-1, 1, -1, 1});
}

TEST(Lrn, SumsNeighbouringChannels) {
  const Tensor x = Tensor::Of<float>({1, 2, 3}, Shape{1, 3, 1});
  for (const float beta : {0.75f, 0.5f}) {
    const std::vector<Attribute> attributes = {{"size", std::int64_t{3}}, {"alpha", 3.0f}, {"beta", beta}};
    const double b = static_cast<double>(beta);
    ExpectNear(EvaluateOp({"LRN", 13, {x}, attributes})[0],
               {std::pow(6, -b), 2 * std::pow(15, -b), 3 * std::pow(14, -b)});
  }
}

TEST(LpNorm, LeavesZerosAlone) {
  const Tensor x = Tensor::Of<float>({3, 0, 4, 0}, Shape{2, 2});
  ExpectNear(EvaluateOp({"LpNormalization", 22, {x}, {{"axis", std::int64_t{0}}}})[0], {0.6, 0, 0.8, 0});
}

TEST(AffineF32, EveryVariantAtEveryLength) {
  for (const kernels::Isa isa : kernels::SupportedIsas()) {
    const auto& set = kernels::AffineF32(isa);
    for (std::int64_t n = 0; n <= 70; ++n) {
      std::vector<float> x(n), a(n), b(n), y(n + 1, -7), sum(n);
      for (std::int64_t i = 0; i < n; ++i) x[i] = 0.5f * static_cast<float>(i), a[i] = 2, b[i] = static_cast<float>(i);
      set.row(x.data(), n, 1, 0.5f, a.data(), b.data(), y.data());
      for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(y[i], x[i] - 1 + b[i]) << Name(isa) << ' ' << n;
      set.columns(x.data(), n, b.data(), a.data(), b.data(), y.data());
      for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(y[i], (x[i] - b[i]) * 2 + b[i]) << Name(isa) << ' ' << n;
      set.scalar(x.data(), n, 1, 2, 3, y.data());
      for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(y[i], x[i] * 2 + 1) << Name(isa) << ' ' << n;
      set.add(x.data(), b.data(), a.data(), n, sum.data());
      for (std::int64_t i = 0; i < n; ++i) EXPECT_EQ(sum[i], x[i] + b[i] + 2) << Name(isa) << ' ' << n;
      EXPECT_EQ(y[n], -7) << "wrote beyond the end";
    }
  }
}

}  // namespace
}  // namespace sardonyx
