// ops/generator/random_test.cpp - seeds, distributions and errors of the random operators and Dropout.
#include <gtest/gtest.h>

#include <cmath>

#include "testing/evaluate_op.h"

namespace sardonyx::ops {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;

Attribute Dims2(std::int64_t a, std::int64_t b) { return {"shape", std::vector<std::int64_t>{a, b}}; }

// NumPy: RandomState(7).rand(3) and RandomState(7).randn(3).
TEST(Random, ASeedGivesTheNumbersOfTheReference) {
  const auto uniform = Elements<float>(EvaluateOp({"RandomUniform", 22, {}, {Dims2(1, 3), {"seed", 7.0f}}})[0]);
  EXPECT_EQ(uniform, (std::vector<float>{0.07630829f, 0.77991879f, 0.43840923f}));
  const auto normal = Elements<float>(EvaluateOp({"RandomNormal", 22, {}, {Dims2(1, 3), {"seed", 7.0f}}})[0]);
  const float want[] = {1.6905257f, -0.46593737f, 0.03282016f};
  for (int i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(normal[static_cast<std::size_t>(i)], want[i]);
}

TEST(Random, NumbersHaveTheirMeanAndRange) {
  const auto x =
      Elements<float>(EvaluateOp({"RandomUniform", 22, {}, {Dims2(100, 100), {"low", -2.0f}, {"high", 4.0f}}})[0]);
  double sum = 0;
  for (const float v : x) {
    sum += v;
    ASSERT_TRUE(v >= -2 && v < 4);
  }
  EXPECT_NEAR(sum / 10000, 1, 6 / std::sqrt(12.0) / 100 * 6);  // six deviations of the mean
  const auto y = Elements<float>(EvaluateOp(
      {"RandomNormalLike", 22, {Tensor(DType::kFloat, Shape{100, 100})}, {{"mean", 5.0f}, {"scale", 2.0f}}})[0]);
  sum = 0;
  for (const float v : y) sum += v;
  EXPECT_NEAR(sum / 10000, 5, 2.0 / 100 * 6);
}

TEST(Random, BernoulliAndMultinomialFollowTheirProbabilities) {
  const auto coins = Elements<bool>(
      EvaluateOp({"Bernoulli", 22, {Floats({0, 1, 0, 1})}, {{"dtype", static_cast<std::int64_t>(DType::kBool)}}})[0]);
  EXPECT_EQ(coins, (std::vector<bool>{false, true, false, true}));
  const Tensor logits = Tensor::Of<float>({-INFINITY, 0, 3, -INFINITY}, Shape{2, 2});
  const auto drawn =
      Elements<std::int32_t>(EvaluateOp({"Multinomial", 22, {logits}, {{"sample_size", std::int64_t{3}}}})[0]);
  EXPECT_EQ(drawn, (std::vector<std::int32_t>{1, 1, 1, 0, 0, 0}));
  const std::string message = ErrorOfOp({"Multinomial", 22, {Floats({1})}});
  EXPECT_NE(message.find("expected shape [batch, classes]"), std::string::npos) << message;
  const std::string shape = ErrorOfOp({"RandomUniform", 22, {}, {Dims2(1, -3)}});
  EXPECT_NE(shape.find("found -3"), std::string::npos) << shape;
}

TEST(Dropout, IsTheIdentityUnlessItTrains) {
  const Tensor x = Floats({1, 2, 3});
  const auto y = EvaluateOp({.op = "Dropout", .version = 22, .inputs = {x}, .outputs = 2});
  EXPECT_EQ(Elements<float>(y[0]), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(Elements<bool>(y[1]), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"Dropout", 7, {x}, {{"ratio", 0.9f}}})[0]), (std::vector<float>{1, 2, 3}));
}

TEST(Dropout, TrainingScalesWhatItKeeps) {
  Tensor x(DType::kFloat, Shape{10000});
  std::fill_n(x.data<float>(), 10000, 3.0f);
  const auto y = EvaluateOp(
      {.op = "Dropout", .version = 22, .inputs = {x, Tensor::Scalar(0.25f), Tensor::Scalar(true)}, .outputs = 2});
  int kept = 0;
  for (int i = 0; i < 10000; ++i) {
    const bool mask = y[1].tensor().data<bool>()[i];
    kept += mask;
    ASSERT_EQ(y[0].tensor().data<float>()[i], mask ? 4.0f : 0.0f);
  }
  EXPECT_NEAR(kept, 7500, 6 * std::sqrt(10000 * 0.25 * 0.75));
  const std::string message = ErrorOfOp({"Dropout", 22, {x, Tensor::Scalar(1.0f), Tensor::Scalar(true)}});
  EXPECT_NE(message.find("expected a value in [0, 1), found 1"), std::string::npos) << message;
}

}  // namespace
}  // namespace sardonyx::ops
