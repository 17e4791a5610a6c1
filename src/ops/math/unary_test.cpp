// ops/math/unary_test.cpp - types, special values and errors of the unary operators (the functions:
// kernels/elementwise/unary_test.cpp).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ops/registry.h"
#include "testing/evaluate_op.h"

namespace sardonyx::ops {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;

TEST(Unary, EveryRowRunsOnEveryTypeItLists) {
  for (const auto family : {UnaryOps(), UnaryTestOps()}) {
    for (const OpDef& op : family) {
      for (int d = 1; d < kDTypeCount; ++d) {
        const auto dtype = static_cast<DType>(d);
        if (!op.types.Has(dtype)) continue;
        Tensor x(dtype, Shape{3});
        std::fill_n(static_cast<std::uint8_t*>(x.raw()), x.byte_size(), std::uint8_t{0});
        const auto y = EvaluateOp(
            {.op = op.name, .version = op.since.items[op.since.size - 1], .inputs = {x}, .domain = op.domain});
        EXPECT_EQ(y[0].tensor().count(), 3) << op.name << " " << Name(dtype);
      }
    }
  }
}

TEST(Unary, EmptyAndScalarTensorsWork) {
  EXPECT_EQ(EvaluateOp({"Exp", 13, {Tensor(DType::kFloat, Shape{0, 4})}})[0].tensor().count(), 0);
  EXPECT_EQ(Elements<float>(EvaluateOp({"Exp", 13, {Tensor::Scalar(0.0f)}})[0]), std::vector<float>{1});
}

TEST(Unary, ActivationsReadTheirAttributesAndVersionDefaults) {
  const auto selu1 = Elements<float>(EvaluateOp({"Selu", 1, {Floats({1})}})[0]);
  const auto selu22 = Elements<float>(EvaluateOp({"Selu", 22, {Floats({1})}})[0]);
  EXPECT_EQ(selu1[0], 1.0507f);
  EXPECT_EQ(selu22[0], 1.05070102214813232421875f);
  EXPECT_EQ(Elements<float>(EvaluateOp({"LeakyRelu", 16, {Floats({-2, 2})}, {{"alpha", 0.5f}}})[0]),
            (std::vector<float>{-1, 2}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"HardSigmoid", 22, {Floats({-9, 0, 9})}})[0]),
            (std::vector<float>{0, 0.5f, 1}));
}

TEST(Unary, HalvesAreComputedInFloatAndRoundedOnce) {
  const Tensor x = Tensor::Of<Half>({Half(1.0f), Half(-2.0f), Half(11.0f)}, Shape{3});
  const auto y = EvaluateOp({"Exp", 13, {x}});
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(y[0].tensor().data<Half>()[i].bits, Half(std::exp(static_cast<float>(x.data<Half>()[i]))).bits) << i;
}

TEST(Unary, IntegersWrapAtTheSmallestOne) {
  constexpr auto kMin = std::numeric_limits<std::int32_t>::min();
  const Tensor x = Tensor::Of<std::int32_t>({kMin, -3, 0, 5}, Shape{4});
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"Abs", 13, {x}})[0]), (std::vector<std::int32_t>{kMin, 3, 0, 5}));
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"Neg", 13, {x}})[0]), (std::vector<std::int32_t>{kMin, 3, 0, -5}));
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"Sign", 13, {x}})[0]), (std::vector<std::int32_t>{-1, -1, 0, 1}));
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"Relu", 14, {x}})[0]), (std::vector<std::int32_t>{0, 0, 0, 5}));
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"BitwiseNot", 18, {x}})[0]),
            (std::vector<std::int32_t>{~kMin, 2, -1, -6}));
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"Shrink", 9, {x}, {{"bias", 1.0f}, {"lambd", 4.0f}}})[0]),
            (std::vector<std::int32_t>{kMin + 1, 0, 0, 4}));
}

// What no integer holds becomes the type's smallest number, as conversions of x86 have it.
TEST(Unary, ShrinksIntegersByWhatIsNone) {
  const auto shrink = [](auto x, float bias) {
    const Tensor one = Tensor::Of<decltype(x)>({x}, Shape{1});
    return Elements<decltype(x)>(EvaluateOp({"Shrink", 9, {one}, {{"bias", bias}, {"lambd", 0.5f}}})[0])[0];
  };
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  for (const float bias : {1e30f, -1e30f, INFINITY, NAN}) {
    EXPECT_EQ(shrink(std::int64_t{3}, bias), kLeast) << bias;
    EXPECT_EQ(shrink(std::int8_t{-3}, bias), -128) << bias;
    EXPECT_EQ(shrink(std::uint64_t{3}, bias), 0U) << bias;
  }
  EXPECT_EQ(shrink(std::uint64_t{1} << 63, 0.0f), std::uint64_t{1} << 63);
  EXPECT_EQ(shrink(std::uint64_t{3}, 5.0f), std::uint64_t{0} - 2);
  EXPECT_EQ(shrink(std::uint8_t{3}, 5.0f), 254);
}

TEST(Unary, InfinitiesAndNanAreFound) {
  const Tensor x = Floats({INFINITY, -INFINITY, NAN, 1});
  EXPECT_EQ(Elements<bool>(EvaluateOp({"IsNaN", 20, {x}})[0]), (std::vector<bool>{false, false, true, false}));
  EXPECT_EQ(Elements<bool>(EvaluateOp({"IsInf", 20, {x}})[0]), (std::vector<bool>{true, true, false, false}));
  EXPECT_EQ(Elements<bool>(EvaluateOp({"IsInf", 20, {x}, {{"detect_negative", std::int64_t{0}}}})[0]),
            (std::vector<bool>{true, false, false, false}));
}

TEST(Unary, WrongAttributesAreNamed) {
  const std::string gelu = ErrorOfOp({"Gelu", 20, {Floats({1})}, {{"approximate", std::string("fast")}}});
  EXPECT_NE(gelu.find("expected 'none' or 'tanh', found 'fast'"), std::string::npos) << gelu;
  const std::string celu = ErrorOfOp({"Celu", 28, {Floats({1})}, {{"alpha", 0.0f}}});
  EXPECT_NE(celu.find("expected a value other than 0"), std::string::npos) << celu;
}

}  // namespace
}  // namespace sardonyx::ops
