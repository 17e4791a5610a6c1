// ops/generator/constant_test.cpp - Constant, ConstantOfShape and EyeLike.
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

}  // namespace
}  // namespace sardonyx::ops
