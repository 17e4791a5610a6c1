// ops/elementwise_test.cpp - Pow, Where, Clip, the variadic operators, and what makes tensors of attributes.
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

Tensor Flags(std::initializer_list<bool> flags) {
  return Tensor::Of<bool>(flags, Shape{static_cast<std::int64_t>(flags.size())});
}

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
  const std::string message = ErrorOfOp({"Pow", 15, {Ints({0}), Ints({-1})}});
  EXPECT_NE(message.find("for a base of 0, found -1"), std::string::npos) << message;
}

TEST(Where, BroadcastsAllThreeAndStringsToo) {
  const Tensor condition = Tensor::Of<bool>({true, false}, Shape{2, 1});
  EXPECT_EQ(Elements<float>(EvaluateOp({"Where", 16, {condition, Floats({1, 2, 3}), Tensor::Scalar(9.0f)}})[0]),
            (std::vector<float>{1, 2, 3, 9, 9, 9}));
  const Tensor a = Tensor::Of<std::string>({"a", "b"}, Shape{2}), b = Tensor::Of<std::string>({"c"}, Shape{1});
  EXPECT_EQ(Elements<std::string>(EvaluateOp({"Where", 16, {Flags({false, true}), a, b}})[0]),
            (std::vector<std::string>{"c", "b"}));
  const std::string message = ErrorOfOp({"Where", 16, {condition, Floats({1, 2, 3}), Floats({1, 2})}});
  EXPECT_NE(message.find("do not broadcast"), std::string::npos) << message;
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

TEST(Constant, EveryKindOfAttributeMakesItsTensor) {
  const auto make = [](std::string_view name, AttributeValue value) {
    return EvaluateOp({"Constant", 25, {}, {{std::string(name), std::move(value)}}})[0];
  };
  EXPECT_EQ(Elements<float>(make("value_float", 1.5f)), std::vector<float>{1.5f});
  EXPECT_EQ(Elements<std::int64_t>(make("value_ints", std::vector<std::int64_t>{1, 2})),
            (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(Elements<std::string>(make("value_strings", std::vector<std::string>{"a", "b"})),
            (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(make("value_string", std::string("x")).tensor().shape().rank(), 0u);
  SparseTensor sparse{Shape{2, 2}, Floats({7, 8}), Ints({1, 2})};
  EXPECT_EQ(Elements<float>(make("sparse_value", sparse)), (std::vector<float>{0, 7, 8, 0}));
  sparse.indices = Tensor::Of<std::int64_t>({0, 1, 1, 1}, Shape{2, 2});
  EXPECT_EQ(Elements<float>(make("sparse_value", sparse)), (std::vector<float>{0, 7, 0, 8}));
  const std::string message = ErrorOfOp({"Constant", 25, {}});
  EXPECT_NE(message.find("found none"), std::string::npos) << message;
}

TEST(Constant, ConstantOfShapeFillsEveryKindOfElement) {
  EXPECT_EQ(Elements<float>(EvaluateOp({"ConstantOfShape", 25, {Ints({2})}})[0]), (std::vector<float>{0, 0}));
  EXPECT_EQ(EvaluateOp({"ConstantOfShape", 25, {Tensor(DType::kInt64, Shape{0})}})[0].tensor().shape().rank(), 0u);
  Tensor five(DType::kInt4, Shape{1});
  *five.data<std::uint8_t>() = 5;
  const Value packed = EvaluateOp({"ConstantOfShape", 25, {Ints({3})}, {{"value", five}}})[0];
  EXPECT_EQ(packed.tensor().data<std::uint8_t>()[0], 0x55);
  EXPECT_EQ(packed.tensor().data<std::uint8_t>()[1], 0x05);
  const std::string message = ErrorOfOp({"ConstantOfShape", 25, {Ints({-2})}});
  EXPECT_NE(message.find("found -2"), std::string::npos) << message;
}

TEST(Constant, EyeLikePutsOnesOnAnyDiagonal) {
  const Tensor x(DType::kInt32, Shape{2, 3});
  EXPECT_EQ(Elements<float>(EvaluateOp({"EyeLike", 22, {x}, {{"dtype", std::int64_t{1}}, {"k", std::int64_t{1}}}})[0]),
            (std::vector<float>{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"EyeLike", 22, {x}, {{"k", std::int64_t{-9}}}})[0]),
            std::vector<std::int32_t>(6));
  const std::string message = ErrorOfOp({"EyeLike", 22, {Floats({1})}});
  EXPECT_NE(message.find("expected a 2-D tensor"), std::string::npos) << message;
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

TEST(Identity, HandsOnTensorsAndSequences) {
  EXPECT_EQ(Elements<float>(EvaluateOp({"Identity", 25, {Floats({1, 2})}})[0]), (std::vector<float>{1, 2}));
  const Value sequence = Sequence{DType::kFloat, {Value(Floats({1}))}};
  EXPECT_EQ(EvaluateOp({"Identity", 25, {sequence}})[0].sequence().items.size(), 1u);
}

}  // namespace
}  // namespace sardonyx::ops
