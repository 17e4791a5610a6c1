// testing/tolerance_test.cpp - the comparison accepts what is close and refuses all else; random tensors repeat.
#include "testing/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "testing/elements.h"
#include "testing/random_tensor.h"

namespace sardonyx::testing {
namespace {

Tensor Floats(std::initializer_list<float> values) {
  return Tensor::Of<float>(values, Shape{static_cast<std::int64_t>(values.size())});
}

TEST(AllClose, MeasuresAgainstTheLargestValue) {
  EXPECT_TRUE(AllClose(Floats({1000, 0.005f}), Floats({1000, 0})));
  EXPECT_FALSE(AllClose(Floats({1000, 0.02f}), Floats({1000, 0})));
  EXPECT_TRUE(AllClose(Floats({0}), Floats({-0.0f})));
  EXPECT_FALSE(AllClose(Floats({1e-6f}), Floats({0})));
  EXPECT_TRUE(AllClose(Floats({1e-6f}), Floats({0}), {0, 1e-5}));
  EXPECT_EQ(std::string(AllClose(Floats({1, 3}), Floats({1, 2})).message()).substr(0, 44),
            "element [1]: expected 2, found 3; differs by");
}

TEST(AllClose, WantsNanAndInfinitiesInTheirPlaces) {
  EXPECT_TRUE(AllClose(Floats({NAN, INFINITY, 1}), Floats({NAN, INFINITY, 1})));
  EXPECT_FALSE(AllClose(Floats({NAN, 1}), Floats({1, NAN})));
  EXPECT_FALSE(AllClose(Floats({INFINITY}), Floats({-INFINITY})));
  EXPECT_FALSE(AllClose(Floats({3e38f}), Floats({INFINITY})));
  EXPECT_FALSE(AllClose(Floats({NAN}), Floats({0}), {1, 1e9}));
}

TEST(AllClose, ComparesTypesShapesIntegersAndStringsExactly) {
  EXPECT_FALSE(AllClose(Floats({1}), Tensor::Of<double>({1}, Shape{1})));
  EXPECT_FALSE(AllClose(Floats({1}), Floats({1, 1})));
  EXPECT_FALSE(AllClose(Floats({1}), Floats({1}).Reshaped(Shape{})));
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  EXPECT_FALSE(AllClose(Tensor::Scalar<std::int64_t>(big), Tensor::Scalar<std::int64_t>(big - 1)));
  EXPECT_TRUE(AllClose(Tensor::Scalar<std::string>("a"), Tensor::Scalar<std::string>("a")));
  EXPECT_EQ(std::string(AllClose(Tensor::Scalar<std::string>("a"), Tensor::Scalar<std::string>("b")).message()),
            "element []: expected \"b\", found \"a\"; 1 of 1 elements differ");
  Tensor a(DType::kInt4, Shape{3}), b(DType::kInt4, Shape{3});
  for (std::int64_t i = 0; i < 3; ++i) SetElement(a, i, -8), SetElement(b, i, -8);
  a.data<std::uint8_t>()[1] |= 0xf0;  // beyond the last element
  EXPECT_TRUE(AllClose(a, b));
  SetElement(a, 1, 7);
  EXPECT_FALSE(AllClose(a, b));
  EXPECT_FALSE(AllClose(Tensor::Scalar(std::complex<float>(1, 2)), Tensor::Scalar(std::complex<float>(1, 3))));
}

TEST(AllClose, LooksIntoValuesOfEveryKind) {
  const auto sequence = [](float x) {
    return Value(Sequence{DType::kFloat, {Value(Floats({1})), Value(Floats({x}))}});
  };
  EXPECT_TRUE(AllClose(sequence(2), sequence(2)));
  EXPECT_FALSE(AllClose(sequence(2), sequence(3)));
  EXPECT_FALSE(AllClose(sequence(2), Value(Sequence{})));
  EXPECT_FALSE(AllClose(sequence(2), Value()));
  EXPECT_TRUE(AllClose(Value(), Value()));
  const auto map = [](float x) { return Value(Map{Tensor::Of<std::int64_t>({1}, Shape{1}), Floats({x})}); };
  EXPECT_TRUE(AllClose(map(1), map(1)));
  EXPECT_FALSE(AllClose(map(1), map(2)));
  const auto sparse = [](std::int64_t n) {
    return Value(SparseTensor{Shape{n}, Floats({1}), Tensor::Of<std::int64_t>({0}, Shape{1})});
  };
  EXPECT_TRUE(AllClose(sparse(2), sparse(2)));
  EXPECT_FALSE(AllClose(sparse(2), sparse(3)));
}

TEST(SameBits, TellsZerosApart) {
  EXPECT_TRUE(SameBits(Floats({NAN}), Floats({NAN})));
  EXPECT_FALSE(SameBits(Floats({0}), Floats({-0.0f})));
}

TEST(RandomTensors, RepeatStayInRangeAndHitBothEnds) {
  for (int i = 1; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const bool is_signed = !IsInteger(dtype) || IsSigned(dtype);
    const double low = is_signed ? -2 : 0, high = 1;
    RandomTensors random(7);
    const Tensor a = random.Uniform(dtype, Shape{100, 2}, low, high);
    RandomTensors again(7);
    EXPECT_TRUE(AllClose(again.Uniform(dtype, Shape{100, 2}, low, high), a)) << Name(dtype);
    if (IsString(dtype) || dtype == DType::kFloat8E8M0) continue;
    double least = high, most = low;
    for (std::int64_t j = 0; j < a.count(); ++j) {
      least = std::min(least, GetElement(a, j));
      most = std::max(most, GetElement(a, j));
    }
    EXPECT_GE(least, low) << Name(dtype);
    EXPECT_LE(most, high) << Name(dtype);
    EXPECT_TRUE(!IsInteger(dtype) || (least == low && most == high)) << Name(dtype);
    EXPECT_LT(least, most) << Name(dtype);
  }
}

TEST(RandomTensors, NormalHasItsMomentsAndSpecialsAreSprinkled) {
  RandomTensors random(3);
  const Tensor x = random.Normal(DType::kDouble, Shape{20000}, 5, 2);
  double sum = 0, squares = 0;
  for (const double value : x.span<double>()) sum += value, squares += (value - 5) * (value - 5);
  EXPECT_NEAR(sum / 20000, 5, 0.1);
  EXPECT_NEAR(squares / 20000, 4, 0.2);
  const Tensor specials = random.WithSpecialValues(x);
  int nans = 0, changed = 0;
  for (std::int64_t i = 0; i < x.count(); ++i) {
    nans += std::isnan(specials.data<double>()[i]);
    changed += specials.data<double>()[i] != x.data<double>()[i];
  }
  EXPECT_GT(nans, 100);
  EXPECT_NEAR(changed, 2000, 200);
  EXPECT_THROW(random.Normal(DType::kInt8, Shape{1}), Error);
}

}  // namespace
}  // namespace sardonyx::testing
