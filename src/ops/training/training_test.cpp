// ops/training/training_test.cpp - the first step of Momentum.
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
