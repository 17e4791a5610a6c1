// ops/tensor/cast_test.cpp - every pair of types, text, rounding and errors of Cast.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/elementwise/convert.h"
#include "ops/registry.h"
#include "testing/evaluate_op.h"

namespace sardonyx::ops {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;
using testing::Ints;

Attribute To(DType dtype) { return {"to", static_cast<std::int64_t>(dtype)}; }
Value CastTo(Value x, DType to) { return EvaluateOp({"Cast", 28, {std::move(x)}, {To(to)}})[0]; }
Tensor Texts(std::initializer_list<std::string> texts) {
  return Tensor::Of<std::string>(texts, Shape{static_cast<std::int64_t>(texts.size())});
}

// 1, 0 and 1 have a form in every type.
TEST(Cast, EveryPairOfTypesKeepsZeroAndOne) {
  const Tensor start = Tensor::Of<bool>({true, false, true}, Shape{3});
  for (int f = 1; f < kDTypeCount; ++f) {
    for (int t = 1; t < kDTypeCount; ++t) {
      const auto from = static_cast<DType>(f), to = static_cast<DType>(t);
      if (kComplexes.Has(from) || kComplexes.Has(to)) continue;
      // 2^-127 is the zero of float8e8m0.
      if (from == DType::kFloat8E8M0 || to == DType::kFloat8E8M0) continue;
      const Value back = CastTo(CastTo(CastTo(start, from), to), DType::kFloat);
      EXPECT_EQ(Elements<float>(back), (std::vector<float>{1, 0, 1})) << Name(from) << " -> " << Name(to);
    }
  }
}

TEST(Cast, TextIsThatOfOnnxRuntime) {
  const Tensor x = Floats({1.5f, -0.0f, 1e10f, 1e-7f, 0.1f, INFINITY, -INFINITY, NAN, 123456789.0f, 16777216});
  EXPECT_EQ(Elements<std::string>(CastTo(x, DType::kString)),
            (std::vector<std::string>{"1.5", "-0", "1e+10", "1e-07", "0.1", "INF", "-INF", "NaN", "1.2345679e+08",
                                      "16777216"}));
  EXPECT_EQ(Elements<std::string>(CastTo(Tensor::Of<bool>({true, false}, Shape{2}), DType::kString)),
            (std::vector<std::string>{"1", "0"}));
  EXPECT_EQ(Elements<std::string>(CastTo(Tensor::Scalar<std::uint64_t>(1ull << 63), DType::kString))[0],
            "9223372036854775808");
}

TEST(Cast, TextReadsAsNumbers) {
  const auto floats =
      Elements<float>(CastTo(Texts({" 1.5", "-INF", "+inf", "nan", "1e-5", "1e999", "-1e-999"}), DType::kFloat));
  EXPECT_EQ(floats[0], 1.5f);
  EXPECT_EQ(floats[1], -INFINITY);
  EXPECT_EQ(floats[2], INFINITY);
  EXPECT_TRUE(std::isnan(floats[3]));
  EXPECT_EQ(floats[4], 1e-5f);
  EXPECT_EQ(floats[5], INFINITY);
  EXPECT_EQ(floats[6], 0.0f);
  EXPECT_EQ(Elements<std::int64_t>(CastTo(Texts({"3.7", "-5", "1e3", "9007199254740993"}), DType::kInt64)),
            (std::vector<std::int64_t>{3, -5, 1000, 9007199254740993}));
  EXPECT_EQ(Elements<std::uint64_t>(CastTo(Texts({"18446744073709551615"}), DType::kUInt64))[0], ~0ull);
  const std::initializer_list<std::string> longer = {"1,5", "1_0", "2.5kg", "-0x10", "0x", "1e", "1e3 m"};
  EXPECT_EQ(Elements<float>(CastTo(Texts(longer), DType::kFloat)),
            (std::vector<float>{1, 1, 2.5f, -16, 0, 1, 1000}));
  EXPECT_EQ(Elements<std::int64_t>(CastTo(Texts(longer), DType::kInt64)),
            (std::vector<std::int64_t>{1, 1, 2, 0, 0, 1, 1000}));
  const std::string message = ErrorOfOp({"Cast", 28, {Texts({"Hello World!"})}, {To(DType::kFloat)}});
  EXPECT_NE(message.find("expected a number, found the string \"Hello World!\""), std::string::npos) << message;
}

TEST(Cast, IntegersKeepTheirLowBits) {
  EXPECT_EQ(Elements<std::int8_t>(CastTo(Ints({200, -129, 1 << 20}), DType::kInt8)),
            (std::vector<std::int8_t>{-56, 127, 0}));
  EXPECT_EQ(Elements<bool>(CastTo(Ints({0, 256, -1}), DType::kBool)), (std::vector<bool>{false, true, true}));
}

TEST(Cast, SaturateDecidesWhatFloat8CannotHold) {
  const Tensor x = Floats({1e6f, INFINITY});
  const auto bits = [](const Value& v, int i) { return static_cast<const std::uint8_t*>(v.tensor().raw())[i]; };
  const Value saturated = EvaluateOp({"Cast", 28, {x}, {To(DType::kFloat8E4M3FN)}})[0];
  const Value open = EvaluateOp({"Cast", 28, {x}, {To(DType::kFloat8E4M3FN), {"saturate", std::int64_t{0}}}})[0];
  EXPECT_EQ(bits(saturated, 0), 0x7e);
  EXPECT_EQ(bits(saturated, 1), 0x7e);
  EXPECT_EQ(bits(open, 0), 0x7f);
  EXPECT_EQ(bits(open, 1), 0x7f);
}

TEST(Cast, VersionOneNamesItsType) {
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Cast", 1, {Floats({1.9f})}, {{"to", std::string("INT64")}}})[0])[0], 1);
  const std::string message =
      ErrorOfOp({"Cast", 28, {Floats({1})}, {To(DType::kFloat8E8M0), {"round_mode", std::string("odd")}}});
  EXPECT_NE(message.find("expected 'up', 'down' or 'nearest', found 'odd'"), std::string::npos) << message;
}

TEST(Cast, EmptyTensorsAndPackedTypesOfOddLengthWork) {
  EXPECT_EQ(CastTo(Tensor(DType::kFloat, Shape{0}), DType::kInt4).tensor().count(), 0);
  const Value packed = CastTo(Floats({1, -2, 3}), DType::kInt4);
  EXPECT_EQ(Elements<float>(CastTo(packed, DType::kFloat)), (std::vector<float>{1, -2, 3}));
}

TEST(BitCast, KeepsBitsAndChecksTheWidth) {
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"BitCast", 26, {Floats({1.0f})}, {To(DType::kInt32)}})[0])[0],
            0x3f800000);
  const std::string message = ErrorOfOp({"BitCast", 26, {Floats({1.0f})}, {To(DType::kInt64)}});
  EXPECT_NE(message.find("expected a type of 32 bits"), std::string::npos) << message;
}

}  // namespace
}  // namespace sardonyx::ops
