// ops/math/elementwise_test.cpp - Pow, Clip, BiasGelu and the variadic operators.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "testing/evaluate_op.h"

namespace sardonyx::ops {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;
using testing::Ints;

TEST(Pow, MixedTypesAndSpecialExponentsAgreeWithPow) {
  const Tensor x = Floats({0.0f, -0.0f, 2.5f, -3.0f, INFINITY, -INFINITY});
  for (const float e : {2.0f, 3.0f, 0.5f, -1.0f, 1.0f, 0.0f, 1.7f}) {
    const auto z = Elements<float>(EvaluateOp({"Pow", 15, {x, Tensor::Scalar(e)}})[0]);
    for (std::size_t i = 0; i < z.size(); ++i) {
      const float want = std::pow(x.data<float>()[i], e);
      EXPECT_TRUE(std::isnan(want) ? std::isnan(z[i]) : z[i] == want && std::signbit(z[i]) == std::signbit(want))
          << x.data<float>()[i] << "^" << e << " = " << z[i] << ", expected " << want;
    }
  }
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Pow", 15, {Ints({3, -2, 7}), Ints({39, 63, 0})}})[0]),
            (std::vector<std::int64_t>{4052555153018976267, std::numeric_limits<std::int64_t>::min(), 1}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Pow", 15, {Ints({4, 9}), Floats({0.5f})}})[0]),
            (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Pow", 15, {Ints({0, -1, 3}), Ints({-1})}})[0]),
            (std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min(), -1, 0}));
  const Tensor zero = Tensor::Scalar<std::int32_t>(0);
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"Pow", 15, {zero, Ints({-2})}})[0]),
            (std::vector<std::int32_t>{std::numeric_limits<std::int32_t>::min()}));
}

TEST(Clip, MissingBoundsNanAndCrossedBounds) {
  const Tensor x = Floats({-5, 0, 5, NAN});
  const auto y = Elements<float>(EvaluateOp({"Clip", 13, {x, Value(), Tensor::Scalar(1.0f)}})[0]);
  EXPECT_EQ(y[0], -5);
  EXPECT_EQ(y[2], 1);
  EXPECT_TRUE(std::isnan(y[3]));
  EXPECT_EQ(Elements<float>(EvaluateOp({"Clip", 13, {Floats({-5, 5}), Tensor::Scalar(3.0f), Tensor::Scalar(1.0f)}})[0]),
            (std::vector<float>{1, 1}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"Clip", 6, {Floats({-5, 5})}, {{"min", -1.0f}, {"max", 2.0f}}})[0]),
            (std::vector<float>{-1, 2}));
  const Tensor i = Tensor::Of<std::uint8_t>({1, 200}, Shape{2});
  EXPECT_EQ(Elements<std::uint8_t>(EvaluateOp({"Clip", 13, {i, Tensor::Scalar<std::uint8_t>(5)}})[0]),
            (std::vector<std::uint8_t>{5, 200}));
  const std::string message = ErrorOfOp({"Clip", 13, {x, Floats({1, 2})}});
  EXPECT_NE(message.find("input 'min': expected one element, found shape [2]"), std::string::npos) << message;
}

TEST(Variadic, ThreeInputsOfDifferentShapesAndNan) {
  const Tensor a = Tensor::Of<float>({1, 2, 3, 4, 5, 6}, Shape{2, 3}), b = Floats({10, 20, 30}),
               c = Tensor::Scalar(3.0f);
  EXPECT_EQ(Elements<float>(EvaluateOp({"Sum", 13, {a, b, c}})[0]), (std::vector<float>{14, 25, 36, 17, 28, 39}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"Max", 13, {a, c}})[0]), (std::vector<float>{3, 3, 3, 4, 5, 6}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"Mean", 13, {b, Floats({20, 40, 60})}})[0]), (std::vector<float>{15, 30, 45}));
  const auto nan = Elements<float>(EvaluateOp({"Min", 13, {Floats({NAN, 1}), Floats({1, NAN})}})[0]);
  EXPECT_TRUE(std::isnan(nan[0]) && std::isnan(nan[1]));
  const Tensor one = Tensor::Of<Half>({Half(2048.0f)}, Shape{1}), half = Tensor::Of<Half>({Half(0.75f)}, Shape{1});
  // 2048 + 0.75 + 0.75 is 2050 rounded once; rounding after each sum would leave 2048.
  EXPECT_EQ(static_cast<float>(EvaluateOp({"Sum", 13, {one, half, half}})[0].tensor().data<Half>()[0]), 2050.0f);
  const std::string message = ErrorOfOp({"Max", 13, {Floats({1}), Ints({1})}});
  EXPECT_NE(message.find("input 1: expected type float"), std::string::npos) << message;
}

TEST(BiasGelu, AddsTheBiasOfTheLastDimensionFirst) {
  const Tensor x = Tensor::Of<float>({0, 1, 2, -3}, Shape{2, 2}), bias = Floats({1, -1});
  const Tensor sum = Tensor::Of<float>({1, 0, 3, -4}, Shape{2, 2});
  const auto call = [](std::string_view op, std::vector<Value> inputs) {
    return Elements<float>(
        EvaluateOp({.op = op, .version = 1, .inputs = std::move(inputs), .domain = "com.microsoft"})[0]);
  };
  EXPECT_EQ(call("BiasGelu", {x, bias}), Elements<float>(EvaluateOp({"Gelu", 20, {sum}})[0]));
  const auto fast = Elements<float>(EvaluateOp({"Gelu", 20, {sum}, {{"approximate", std::string("tanh")}}})[0]);
  EXPECT_EQ(call("FastGelu", {x, bias}), fast);
  EXPECT_EQ(call("FastGelu", {sum}), fast);
  const std::string message =
      ErrorOfOp({.op = "BiasGelu", .version = 1, .inputs = {x, Floats({1})}, .domain = "com.microsoft"});
  EXPECT_NE(message.find("expected the last dimension of float[2,2]"), std::string::npos) << message;
}

}  // namespace
}  // namespace sardonyx::ops
