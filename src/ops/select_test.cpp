// ops/select_test.cpp - ArgMax, TopK, CumSum, Einsum, Det, losses and optimizer steps.
#include <gtest/gtest.h>

#include <cmath>

#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;
using testing::Ints;
using Longs = std::vector<std::int64_t>;

const Tensor kX = Tensor::Of<float>({1, 3, 3, 2, 0, 5}, Shape{2, 3});

TEST(ArgMax, FindsTheFirstOrTheLast) {
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"ArgMax", 13, {kX}, {{"axis", std::int64_t{1}}}})[0]), (Longs{1, 2}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp(
                {"ArgMax", 13, {kX}, {{"axis", std::int64_t{1}}, {"select_last_index", std::int64_t{1}}}})[0]),
            (Longs{2, 2}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"ArgMin", 13, {kX}})[0]), (Longs{0, 1, 0}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"ArgMax", 13, {Floats({1, NAN, 5})}})[0]), (Longs{1}));
  EXPECT_NE(ErrorOfOp({"ArgMax", 13, {Tensor(DType::kFloat, Shape{0})}}).find("not empty"), std::string::npos);
}

TEST(TopK, PrefersTheFirstOfEqualElements) {
  const auto y = EvaluateOp({"TopK", 24, {Floats({2, 7, 7, 1}), Ints({3})}, {}, 2});
  EXPECT_EQ(Elements<float>(y[0]), (std::vector<float>{7, 7, 2}));
  EXPECT_EQ(Elements<std::int64_t>(y[1]), (Longs{1, 2, 0}));
  std::vector<float> many(1000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i * 7919 % 1000);
  const auto few =
      EvaluateOp({"TopK", 24, {Tensor::Vector<float>(many), Ints({3})}, {{"largest", std::int64_t{0}}}, 2});
  EXPECT_EQ(Elements<float>(few[0]), (std::vector<float>{0, 1, 2}));
  const auto old = EvaluateOp({"TopK", 1, {Floats({2, 7})}, {{"k", std::int64_t{1}}}, 2});
  EXPECT_EQ(Elements<float>(old[0]), (std::vector<float>{7}));
  EXPECT_NE(ErrorOfOp({"TopK", 24, {Floats({2}), Ints({3})}, {}, 2}).find("found 3"), std::string::npos);
}

TEST(Cumulative, RunsBothWays) {
  const std::vector<Attribute> both = {{"reverse", std::int64_t{1}}, {"exclusive", std::int64_t{1}}};
  const Tensor axis = Tensor::Scalar<std::int64_t>(1);
  EXPECT_EQ(Elements<float>(EvaluateOp({"CumSum", 14, {kX, axis}})[0]), (std::vector<float>{1, 4, 7, 2, 2, 7}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"CumSum", 14, {kX, axis}, both})[0]), (std::vector<float>{6, 3, 0, 5, 5, 0}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"CumProd", 26, {kX, axis}})[0]), (std::vector<float>{1, 3, 9, 2, 0, 0}));
  EXPECT_NE(ErrorOfOp({"CumSum", 14, {kX, Tensor::Scalar<std::int64_t>(2)}}).find("2"), std::string::npos);
}

std::vector<float> Einsum(const std::string& equation, std::vector<Value> inputs) {
  return Elements<float>(EvaluateOp({"Einsum", 12, std::move(inputs), {{"equation", equation}}})[0]);
}

TEST(Einsum, ContractsDiagonalsSumsAndChains) {
  const Tensor m = Tensor::Of<float>({1, 2, 3, 4}, Shape{2, 2});
  EXPECT_EQ(Einsum("ij->ji", {m}), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(Einsum("ii", {m}), (std::vector<float>{5}));
  EXPECT_EQ(Einsum("ij->j", {m}), (std::vector<float>{4, 6}));
  EXPECT_EQ(Einsum("ij, jk, kl -> il", {m, m, m}), (std::vector<float>{37, 54, 81, 118}));
  EXPECT_EQ(Einsum("...i,...i->...", {m, m}), (std::vector<float>{5, 25}));
  EXPECT_EQ(Einsum("i,j->ij", {Floats({1, 2}), Floats({3, 4})}), (std::vector<float>{3, 4, 6, 8}));
  EXPECT_NE(ErrorOfOp({"Einsum", 12, {m, m}, {{"equation", std::string("ij->ij")}}}).find("2 operands"),
            std::string::npos);
}

TEST(Det, ExchangesRows) {
  const Tensor m = Tensor::Of<float>({0, 2, 0, 1, 0, 0, 0, 0, 3}, Shape{3, 3});
  EXPECT_EQ(Elements<float>(EvaluateOp({"Det", 22, {m}})[0]), (std::vector<float>{-6}));
  EXPECT_NE(ErrorOfOp({"Det", 22, {kX}}).find("square"), std::string::npos);
}

TEST(Loss, IgnoresAndWeights) {
  const Tensor scores = Tensor::Of<float>({0, std::log(3.0f), 0, 0}, Shape{2, 2});
  const std::vector<Attribute> ignore = {{"ignore_index", std::int64_t{-1}}};
  const auto loss = EvaluateOp({"SoftmaxCrossEntropyLoss", 13, {scores, Ints({1, -1})}, ignore, 2});
  EXPECT_NEAR(Elements<float>(loss[0])[0], -std::log(0.75f), 1e-6f);
  EXPECT_NEAR(Elements<float>(loss[1])[2], -std::log(2.0f), 1e-6f);
  EXPECT_NE(ErrorOfOp({"NegativeLogLikelihoodLoss", 22, {scores, Ints({1, 7})}}).find("found 7"), std::string::npos);
}

TEST(Loss, OfImagesWithoutPixels) {
  const Tensor scores(DType::kFloat, Shape{2, 4, 3, 0}), labels(DType::kInt64, Shape{2, 3, 0});
  const auto loss = EvaluateOp({"SoftmaxCrossEntropyLoss", 13, {scores, labels}, {}, 2});
  EXPECT_TRUE(std::isnan(Elements<float>(loss[0])[0]));  // the mean of nothing
  EXPECT_EQ(loss[1].tensor().shape(), scores.shape());
}

TEST(Training, MomentumStartsWithTheWholeGradient) {
  const std::vector<Value> inputs = {Tensor::Scalar<float>(0.5f), Tensor::Scalar<std::int64_t>(0), Floats({1}),
                                     Floats({2}), Floats({4})};
  const std::vector<Attribute> attributes = {
      {"norm_coefficient", 0.0f}, {"alpha", 0.5f}, {"beta", 0.1f}, {"mode", std::string("standard")}};
  const auto y = EvaluateOp({"Momentum", 1, inputs, attributes, 2, "ai.onnx.preview.training"});
  EXPECT_EQ(Elements<float>(y[0]), (std::vector<float>{-1}));
  EXPECT_EQ(Elements<float>(y[1]), (std::vector<float>{4}));
}

}  // namespace
}  // namespace sardonyx
