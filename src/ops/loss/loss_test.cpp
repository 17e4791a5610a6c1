// ops/loss/loss_test.cpp - losses with ignored classes, with weights, and of images without pixels.
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

}  // namespace
}  // namespace sardonyx
