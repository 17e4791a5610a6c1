// base/small_float_test.cpp - every code and every rounding boundary against an independent definition in double.
#include "base/small_float.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace sardonyx {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// What the specification of a format says: value = (1 + m / 2^M) * 2^(e - bias), or m / 2^M * 2^(1 - bias) for e = 0.
struct Case {
  std::string name;
  int mantissa_bits, bias;
  unsigned largest;  // code of the largest finite value
  unsigned sign;     // the sign bit
  bool negative_zero;
  std::function<float(unsigned)> decode;
  std::function<unsigned(float)> encode;  // saturating where the format can
  double DefinedValue(unsigned code) const {
    const unsigned e = code >> mantissa_bits, m = code & ((1u << mantissa_bits) - 1);
    const double fraction = std::ldexp(static_cast<double>(m), -mantissa_bits);
    return e == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, static_cast<int>(e) - bias);
  }
};

Case Float8Case(const std::string& name, Float8Kind kind, int mantissa_bits, int bias, unsigned largest, bool zero) {
  return {name,
          mantissa_bits,
          bias,
          largest,
          0x80,
          zero,
          [kind](unsigned code) { return Float8ToFloat(kind, static_cast<std::uint8_t>(code)); },
          [kind](float value) -> unsigned { return Float8FromFloat(kind, value, true); }};
}

std::vector<Case> Cases() {
  return {
      {"float16", 10, 15, 0x7bff, 0x8000, true,
       [](unsigned code) { return Half::ToFloat(static_cast<std::uint16_t>(code)); },
       [](float value) -> unsigned { return Half::FromFloat(value); }},
      {"bfloat16", 7, 127, 0x7f7f, 0x8000, true,
       [](unsigned code) {
         BFloat16 b;
         b.bits = static_cast<std::uint16_t>(code);
         return static_cast<float>(b);
       },
       [](float value) -> unsigned { return BFloat16::FromFloat(value); }},
      Float8Case("float8e4m3fn", Float8Kind::kE4M3FN, 3, 7, 0x7e, true),
      Float8Case("float8e4m3fnuz", Float8Kind::kE4M3FNUZ, 3, 8, 0x7f, false),
      Float8Case("float8e5m2", Float8Kind::kE5M2, 2, 15, 0x7b, true),
      Float8Case("float8e5m2fnuz", Float8Kind::kE5M2FNUZ, 2, 16, 0x7f, false),
      {"float4e2m1", 1, 1, 0x7, 0x8, true, [](unsigned code) { return Float4ToFloat(static_cast<std::uint8_t>(code)); },
       [](float value) -> unsigned { return Float4FromFloat(value); }},
  };
}

TEST(SmallFloat, EveryFiniteCodeHasItsDefinedValueAndComesBack) {
  for (const Case& c : Cases()) {
    for (unsigned code = 0; code <= c.largest; ++code) {
      ASSERT_EQ(c.decode(code), c.DefinedValue(code)) << c.name << " code " << code;
      ASSERT_EQ(c.encode(c.decode(code)), code) << c.name;
      if (code == 0 && !c.negative_zero) continue;
      ASSERT_EQ(c.decode(code | c.sign), -c.DefinedValue(code)) << c.name << " code " << code;
      ASSERT_TRUE(std::signbit(c.decode(code | c.sign))) << c.name;
      ASSERT_EQ(c.encode(c.decode(code | c.sign)), code | c.sign) << c.name;
    }
    EXPECT_EQ(c.encode(-0.0f), c.negative_zero ? c.sign : 0u) << c.name;
  }
}

TEST(SmallFloat, RoundsToNearestWithTiesToEvenAtEveryBoundary) {
  for (const Case& c : Cases()) {
    for (unsigned code = 0; code < c.largest; ++code) {
      const double middle = (c.DefinedValue(code) + c.DefinedValue(code + 1)) / 2;
      const auto tie = static_cast<float>(middle);
      ASSERT_EQ(tie, middle) << c.name;  // every boundary is a float
      const unsigned even = code % 2 == 0 ? code : code + 1;
      ASSERT_EQ(c.encode(tie), even) << c.name << " tie above code " << code;
      ASSERT_EQ(c.encode(std::nextafter(tie, 0.0f)), code) << c.name << " below the tie above code " << code;
      ASSERT_EQ(c.encode(std::nextafter(tie, kInf)), code + 1) << c.name << " above the tie above code " << code;
      if (even != 0 || c.negative_zero) {
        ASSERT_EQ(c.encode(-tie), even | c.sign) << c.name;
      }
    }
  }
}

TEST(SmallFloat, OverflowBeginsHalfAStepAboveTheLargestValue) {
  for (const Case& c : Cases()) {
    const bool saturates = c.name.find("float8") == 0 || c.name == "float4e2m1";
    const double tie = c.DefinedValue(c.largest) + (c.DefinedValue(c.largest) - c.DefinedValue(c.largest - 1)) / 2;
    const unsigned beyond = saturates ? c.largest : c.largest + 1;  // the next code is infinity
    EXPECT_EQ(c.encode(std::nextafter(static_cast<float>(tie), 0.0f)), c.largest) << c.name;
    EXPECT_EQ(c.encode(std::nextafter(static_cast<float>(tie), kInf)), beyond) << c.name;
    EXPECT_EQ(c.encode(std::numeric_limits<float>::max()), beyond) << c.name;
    EXPECT_EQ(c.encode(kInf), beyond) << c.name;
    EXPECT_EQ(c.encode(-kInf), beyond | c.sign) << c.name;
  }
}

TEST(SmallFloat, NanStaysNan) {
  for (const Case& c : Cases()) {
    if (c.name == "float4e2m1") continue;
    EXPECT_TRUE(std::isnan(c.decode(c.encode(kNan)))) << c.name;
    EXPECT_TRUE(std::isnan(c.decode(c.encode(-kNan)))) << c.name;
    EXPECT_TRUE(std::isnan(c.decode(c.encode(std::bit_cast<float>(0x7f800001u))))) << c.name;
  }
  EXPECT_EQ(Float4FromFloat(kNan), 8);
  EXPECT_EQ(Float4FromFloat(-kNan), 0);
}

// The tables of ONNX's Cast; the codes agree with ml_dtypes.
TEST(Float8, OverflowsAsCastSaysWithoutSaturation) {
  const auto encode = [](Float8Kind kind, float value) { return int{Float8FromFloat(kind, value, false)}; };
  EXPECT_EQ(encode(Float8Kind::kE4M3FN, kInf), 0x7f);
  EXPECT_EQ(encode(Float8Kind::kE4M3FN, -kInf), 0xff);
  EXPECT_EQ(encode(Float8Kind::kE4M3FN, 464.0f), 0x7e);
  EXPECT_EQ(encode(Float8Kind::kE4M3FN, 465.0f), 0x7f);
  EXPECT_EQ(encode(Float8Kind::kE4M3FNUZ, kInf), 0x80);
  EXPECT_EQ(encode(Float8Kind::kE4M3FNUZ, -1e9f), 0x80);
  EXPECT_EQ(encode(Float8Kind::kE5M2, kInf), 0x7c);
  EXPECT_EQ(encode(Float8Kind::kE5M2, -1e9f), 0xfc);
  EXPECT_EQ(encode(Float8Kind::kE5M2FNUZ, -kInf), 0x80);
  EXPECT_EQ(Float8ToFloat(Float8Kind::kE5M2, 0x7c), kInf);
  EXPECT_EQ(Float8ToFloat(Float8Kind::kE5M2, 0xfc), -kInf);
  EXPECT_TRUE(std::isnan(Float8ToFloat(Float8Kind::kE4M3FNUZ, 0x80)));
  EXPECT_TRUE(std::isnan(Float8ToFloat(Float8Kind::kE4M3FN, 0xff)));
}

TEST(Float8, E8M0HoldsPowersOfTwoAndRoundsAsAsked) {
  for (int code = 0; code < 255; ++code) {
    const auto value = static_cast<float>(std::ldexp(1.0, code - 127));
    ASSERT_EQ(Float8ToFloat(Float8Kind::kE8M0, static_cast<std::uint8_t>(code)), value);
    for (const E8M0Rounding rounding : {E8M0Rounding::kUp, E8M0Rounding::kDown, E8M0Rounding::kNearest}) {
      ASSERT_EQ(Float8E8M0FromFloat(value, true, rounding), code);
      ASSERT_EQ(Float8E8M0FromFloat(value, false, rounding), code);
    }
    const auto middle = static_cast<float>(std::ldexp(1.5, code - 127));
    const int above = code == 254 ? 254 : code + 1;
    ASSERT_EQ(Float8FromFloat(Float8Kind::kE8M0, std::nextafter(value, kInf), true), above);
    ASSERT_EQ(Float8E8M0FromFloat(std::nextafter(middle, kInf), true, E8M0Rounding::kDown), code);
    ASSERT_EQ(Float8E8M0FromFloat(middle, true, E8M0Rounding::kNearest), above);
    ASSERT_EQ(Float8E8M0FromFloat(std::nextafter(middle, 0.0f), true, E8M0Rounding::kNearest), code);
  }
  EXPECT_TRUE(std::isnan(Float8ToFloat(Float8Kind::kE8M0, 0xff)));
  EXPECT_EQ(Float8FromFloat(Float8Kind::kE8M0, 0.0f, true), 0x00);
  EXPECT_EQ(Float8FromFloat(Float8Kind::kE8M0, 0.0f, false), 0xff);
  EXPECT_EQ(Float8FromFloat(Float8Kind::kE8M0, kInf, true), 0xfe);
  EXPECT_EQ(Float8FromFloat(Float8Kind::kE8M0, kInf, false), 0xff);
  EXPECT_EQ(Float8FromFloat(Float8Kind::kE8M0, 3e38f, false), 0xff);
  EXPECT_EQ(Float8FromFloat(Float8Kind::kE8M0, kNan, true), 0xff);
}

TEST(SmallFloat, ComparesByValue) {
  EXPECT_TRUE(Half(0.0f) == Half(-0.0f));
  EXPECT_FALSE(Half(kNan) == Half(kNan));
  EXPECT_TRUE(Float8E4M3FN(1.0f) == Float8E4M3FN(1.01f));
}

}  // namespace
}  // namespace sardonyx
