// base/small_float.h - the float types of 4, 8 and 16 bits: storage and conversion. Arithmetic is done in float.
//
// Conversions to float are exact. Conversions from float round to nearest, ties to even. A value that overflows becomes
// infinity or NaN as in ONNX's Cast with saturate=0, or the largest finite value (8-bit types with saturate, 4-bit
// types).
#pragma once

#include <bit>
#include <cstdint>

namespace sardonyx {

struct Half {  // IEEE 754 binary16
  std::uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(FromFloat(value)) {}
  explicit operator float() const { return ToFloat(bits); }
  static std::uint16_t FromFloat(float value);
  static float ToFloat(std::uint16_t bits);
  bool operator==(const Half& other) const { return float(*this) == float(other); }
};

struct BFloat16 {  // the upper half of a float
  std::uint16_t bits = 0;
  BFloat16() = default;
  explicit BFloat16(float value) : bits(FromFloat(value)) {}
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
  static std::uint16_t FromFloat(float value);
  bool operator==(const BFloat16& other) const { return float(*this) == float(other); }
};

// The 8-bit kinds: FN has no infinities, UZ no negative zero (0x80 is NaN). E8M0 is a power of two without a sign.
enum class Float8Kind : std::uint8_t { kE4M3FN, kE4M3FNUZ, kE5M2, kE5M2FNUZ, kE8M0 };
float Float8ToFloat(Float8Kind kind, std::uint8_t bits);
std::uint8_t Float8FromFloat(Float8Kind kind, float value, bool saturate);  // E8M0: rounds up, as Cast does by default

// ONNX Cast's round_mode for E8M0: up is away from zero, nearest breaks ties upwards. The sign is dropped. Values below
// 2^-127, zero among them, become 2^-127 if `saturate`, else NaN; values above 2^127 become 2^127 or NaN.
enum class E8M0Rounding : std::uint8_t { kUp, kDown, kNearest };
std::uint8_t Float8E8M0FromFloat(float value, bool saturate, E8M0Rounding rounding);

template <Float8Kind kKind>
struct Float8 {
  std::uint8_t bits = 0;
  Float8() = default;
  explicit Float8(float value) : bits(Float8FromFloat(kKind, value, true)) {}
  explicit operator float() const { return Float8ToFloat(kKind, bits); }
  static Float8 FromFloat(float value, bool saturate) {
    Float8 f;
    f.bits = Float8FromFloat(kKind, value, saturate);
    return f;
  }
  bool operator==(const Float8& other) const { return float(*this) == float(other); }
};
using Float8E4M3FN = Float8<Float8Kind::kE4M3FN>;
using Float8E4M3FNUZ = Float8<Float8Kind::kE4M3FNUZ>;
using Float8E5M2 = Float8<Float8Kind::kE5M2>;
using Float8E5M2FNUZ = Float8<Float8Kind::kE5M2FNUZ>;
using Float8E8M0 = Float8<Float8Kind::kE8M0>;

// float4e2m1: the four low bits of `bits`; values 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives. Saturates;
// NaN becomes -0 and -NaN 0 (there is no NaN), as in the cases of the ONNX suite.
float Float4ToFloat(std::uint8_t bits);
std::uint8_t Float4FromFloat(float value);

}  // namespace sardonyx
