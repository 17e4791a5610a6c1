// tests/fuzz/close_tensors_test.cpp - each rule of the comparison finds a planted fault and lets legal differences
// pass.
#include "fuzz/close_tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "testing/evaluate_op.h"

namespace sardonyx::fuzz {
namespace {

using testing::Floats;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
const Latitude kNoException = {};
const Latitude kException = {.class_exception = "MatMul: order", .shape_exception = "Cast: jumps"};
const Latitude kJumping = {.discontinuous = true};

bool Passes(const Tensor& got, const Tensor& want, const std::vector<Tensor>& noisy = {},
            const Latitude& latitude = kNoException) {
  return DifferenceBeyondRounding(got, want, noisy, latitude).empty();
}

TEST(CloseTensors, RoundingsPass) {
  EXPECT_TRUE(Passes(Floats({1, 2}), Floats({1, 2})));
  EXPECT_TRUE(Passes(Floats({1.00001F, 2}), Floats({1, 2})));
  EXPECT_TRUE(Passes(Floats({0.0F}), Floats({-0.0F})));
  EXPECT_TRUE(Passes(Floats({1.001F, 2}), Floats({1, 2}), {Floats({1.0001F, 2})}));
}

TEST(CloseTensors, FindsANumberBeyondRounding) {
  EXPECT_EQ(DifferenceBeyondRounding(Floats({1, 2.5F}), Floats({1, 2}), {}, kNoException).substr(0, 58),
            "element 1: expected 2.000000, found 2.500000, bound 0.0000");
  EXPECT_FALSE(Passes(Floats({1.1F, 2}), Floats({1, 2}), {Floats({1.0001F, 2})}));
  EXPECT_FALSE(Passes(Floats({1.1F, 2}), Floats({1, 2}), {Floats({1.0001F, 2})}, kJumping));
  EXPECT_FALSE(Passes(testing::Ints({1}), testing::Ints({2})));
}

TEST(CloseTensors, FindsAnotherType) {
  EXPECT_EQ(DifferenceBeyondRounding(testing::Ints({1}), Floats({1}), {}, {}), "another type");
}

TEST(CloseTensors, SpecialElementsThatAgreePass) {
  EXPECT_TRUE(Passes(Floats({kNaN, kInfinity, -kInfinity, 1.000001F}), Floats({kNaN, kInfinity, -kInfinity, 1})));
  EXPECT_TRUE(Passes(Floats({std::copysign(kNaN, -1.0F)}), Floats({kNaN})));  // no operator reads the sign of NaN
}

// With the type's special elements where a number, NaN or an infinity is expected, and the other way round.
template <typename T>
class SpecialElements : public ::testing::Test {};
using FloatTypes = ::testing::Types<float, Half, BFloat16, double>;
TYPED_TEST_SUITE(SpecialElements, FloatTypes);

template <typename T>
Tensor One(float number) {
  return Tensor::Of<T>({static_cast<T>(number)}, Shape{1});
}

TYPED_TEST(SpecialElements, AreFoundWithAndWithoutAnException) {
  constexpr float kElements[] = {1, kNaN, kInfinity, -kInfinity};
  for (const float want : kElements) {
    for (const float got : kElements) {
      const bool same = std::isnan(want) ? std::isnan(got) : want == got;
      for (const Latitude& latitude : {kNoException, kException, kJumping}) {
        // Noise leaves the element alone.
        EXPECT_EQ(Passes(One<TypeParam>(got), One<TypeParam>(want), {One<TypeParam>(want)}, latitude), same)
            << got << " for " << want;
      }
      // Noise makes what was found of it: that is allowed with an exception only.
      const std::vector<Tensor> noisy = {One<TypeParam>(want), One<TypeParam>(got)};
      EXPECT_TRUE(Passes(One<TypeParam>(got), One<TypeParam>(want), noisy, kException)) << got << " for " << want;
      EXPECT_EQ(Passes(One<TypeParam>(got), One<TypeParam>(want), noisy, kNoException), same) << got << " for " << want;
    }
  }
}

TEST(CloseTensors, AnUndecidedElementIsOneOfWhatNoiseMakesOfIt) {
  const std::vector<Tensor> noisy = {Floats({kInfinity}), Floats({4})};
  EXPECT_TRUE(Passes(Floats({3}), Floats({kInfinity}), noisy, kException));
  EXPECT_FALSE(Passes(Floats({kNaN}), Floats({kInfinity}), noisy, kException));
  EXPECT_FALSE(Passes(Floats({-kInfinity}), Floats({kInfinity}), noisy, kException));
}

TEST(CloseTensors, TheNumberWhereNoiseGivesAnInfinityIsAny) {
  EXPECT_TRUE(Passes(Floats({1e9F}), Floats({1e30F}), {Floats({kInfinity})}, kException));
  EXPECT_FALSE(Passes(Floats({1e9F}), Floats({1e30F}), {Floats({kInfinity})}, kNoException));
}

TEST(CloseTensors, AnUndecidedElementExcusesNoOther) {
  const std::vector<Tensor> noisy = {Floats({kInfinity, 1, kInfinity}), Floats({kNaN, 1.00001F, kInfinity})};
  EXPECT_TRUE(Passes(Floats({kNaN, 1, kInfinity}), Floats({2, 1, kInfinity}), noisy, kException));
  EXPECT_FALSE(Passes(Floats({kNaN, 1.5F, kInfinity}), Floats({2, 1, kInfinity}), noisy, kException));
  EXPECT_FALSE(Passes(Floats({kNaN, kNaN, kInfinity}), Floats({2, 1, kInfinity}), noisy, kException));
  EXPECT_FALSE(Passes(Floats({kNaN, 1, 7}), Floats({2, 1, kInfinity}), noisy, kException));
}

TEST(CloseTensors, WhatIsNaNOrANumberMayBeInfinite) {
  EXPECT_TRUE(Passes(Floats({kInfinity}), Floats({kNaN}), {Floats({1})}, kException));
  EXPECT_FALSE(Passes(Floats({kInfinity}), Floats({kNaN}), {Floats({1})}, kNoException));
  EXPECT_FALSE(Passes(Floats({kInfinity}), Floats({kNaN}), {Floats({kNaN})}, kException));
}

TEST(CloseTensors, SaysWhatMayDecideAboutTheElement) {
  EXPECT_EQ(DifferenceBeyondRounding(Floats({kNaN}), Floats({1}), {}, kNoException),
            "element 0: expected 1.000000, found nan; no operator in front may decide otherwise");
  EXPECT_EQ(DifferenceBeyondRounding(Floats({-kInfinity}), Floats({kInfinity}), {}, kException),
            "element 0: expected inf, found -inf; noise never gives that, though it could (MatMul: order)");
}

TEST(CloseTensors, FindsAnotherShape) {
  EXPECT_EQ(DifferenceBeyondRounding(Floats({1, 2}), Floats({1}), {}, kNoException),
            "another shape: expected float[1], found float[2]; no operator in front may decide otherwise");
  // Noise gives this shape, but nothing on the way may decide about it.
  EXPECT_FALSE(Passes(Floats({1, 2}), Floats({1}), {Floats({1, 2})}, kNoException));
  EXPECT_FALSE(Passes(Floats({1, 2}), Floats({1}), {Floats({1, 2})}, kJumping));
  EXPECT_FALSE(Passes(Floats({1, 2}), Floats({1}), {Floats({1, 2})}, {.class_exception = "MatMul: order"}));
  // Something may, and noise gives a third shape.
  EXPECT_EQ(DifferenceBeyondRounding(Floats({1, 2}), Floats({1}), std::vector{Floats({1, 2, 3})}, kException),
            "another shape: expected float[1], found float[2]; noise never gives that, though it could (Cast: jumps)");
  EXPECT_FALSE(Passes(Floats({}), Tensor(DType::kFloat, Shape{0, 3})));
}

TEST(CloseTensors, AShapeThatNoiseGivesBringsItsElements) {
  const std::vector<Tensor> noisy = {Floats({1}), Floats({1, 2}), Floats({1, 3, 5})};
  EXPECT_TRUE(Passes(Floats({1, 2}), Floats({1}), noisy, kException));
  EXPECT_FALSE(Passes(Floats({1, 4}), Floats({1}), noisy, kException));
  EXPECT_FALSE(Passes(Floats({1, kNaN}), Floats({1}), noisy, kException));
  // Where noise changes the shape, a result with the expected one is compared as ever.
  EXPECT_FALSE(Passes(Floats({2}), Floats({1}), noisy, kException));
}

TEST(CloseTensors, TheSameBitsAreTheSameElementsAndAnyNaN) {
  EXPECT_TRUE(SameBits(Floats({kNaN, -kInfinity, -0.0F}), Floats({std::copysign(kNaN, -1.0F), -kInfinity, -0.0F})));
  EXPECT_FALSE(SameBits(Floats({0.0F}), Floats({-0.0F})));
  EXPECT_FALSE(SameBits(Floats({kNaN, 1}), Floats({kNaN, std::nextafter(1.0F, 2.0F)})));
  EXPECT_FALSE(SameBits(Floats({kNaN}), Floats({kInfinity})));
  EXPECT_FALSE(SameBits(testing::Ints({(1LL << 60) + 1}), testing::Ints({1LL << 60})));
  EXPECT_FALSE(SameBits(Floats({1}), Tensor::Of<float>({1}, Shape{1, 1})));
}

TEST(CloseTensors, TextsOfNumbersMayDifferWhereNoiseMakesOthers) {
  const auto texts = [](std::string a, std::string b) {
    return Tensor::Of<std::string>({std::move(a), std::move(b)}, Shape{2});
  };
  const std::vector<Tensor> noisy = {texts("0.1", "2"), texts("0.11", "2")};
  EXPECT_TRUE(Passes(texts("0.12", "2"), texts("0.1", "2"), noisy, kException));
  EXPECT_FALSE(Passes(texts("0.12", "2"), texts("0.1", "2"), noisy, kNoException));
  EXPECT_FALSE(Passes(texts("0.1", "3"), texts("0.1", "2"), noisy, kException));
}

}  // namespace
}  // namespace sardonyx::fuzz
