// base/small_float.cpp - exact conversions between float and the small float types.
#include "base/small_float.h"

#include <array>
#include <cstddef>

namespace sardonyx {
namespace {

constexpr std::uint32_t kSignBit = 0x80000000u;
constexpr std::uint32_t kInfinity = 0x7f800000u;

// A small format: mantissa bits, exponent bias, the code (without sign) of the largest finite value.
struct Format {
  int mantissa;
  int bias;
  std::uint32_t largest;
};
constexpr Format kHalfFormat = {10, 15, 0x7bff};
constexpr Format kFloat4Format = {1, 1, 0x7};
constexpr Format kFloat8Formats[] = {{3, 7, 0x7e}, {3, 8, 0x7f}, {2, 15, 0x7b}, {2, 16, 0x7f}};  // by Float8Kind

constexpr bool HasNegativeZeroNaN(Float8Kind kind) {
  return kind == Float8Kind::kE4M3FNUZ || kind == Float8Kind::kE5M2FNUZ;
}

// The code (without sign) of a finite magnitude, rounded to nearest even as if the exponent had no upper limit: a code
// above format.largest is an overflow.
constexpr std::uint32_t Encode(std::uint32_t magnitude, const Format& format) {
  if (magnitude < 0x00800000u) return 0;  // floats without a leading one lie far below every format's smallest value
  const int exponent = static_cast<int>(magnitude >> 23) - 127;
  const int smallest = 1 - format.bias;  // exponent of the smallest normal number
  std::uint32_t significand = (magnitude & 0x007fffffu) | 0x00800000u;
  const int shift = 23 - format.mantissa + (exponent < smallest ? smallest - exponent : 0);
  if (shift > 25) return 0;
  const std::uint32_t half = 1u << (shift - 1);
  const std::uint32_t odd = (significand >> shift) & 1u;
  significand = (significand + half - 1 + odd) >> shift;
  if (exponent < smallest) return significand;  // a carry into the exponent makes the smallest normal number
  return (static_cast<std::uint32_t>(exponent - smallest) << format.mantissa) + significand;
}

constexpr float DecodeFloat8(Float8Kind kind, std::uint32_t bits) {
  if (kind == Float8Kind::kE8M0) {
    if (bits == 0xff) return std::bit_cast<float>(0x7fc00000u);
    return std::bit_cast<float>(bits == 0 ? 0x00400000u : bits << 23);
  }
  const Format& format = kFloat8Formats[static_cast<std::size_t>(kind)];
  const std::uint32_t sign = (bits & 0x80u) << 24;
  const std::uint32_t code = bits & 0x7fu;
  if (HasNegativeZeroNaN(kind) && bits == 0x80u) return std::bit_cast<float>(0x7fc00000u);
  if (kind == Float8Kind::kE5M2 && code == 0x7cu) return std::bit_cast<float>(sign | kInfinity);
  if (code > format.largest) return std::bit_cast<float>(sign | 0x7fc00000u);
  const std::uint32_t exponent = code >> format.mantissa;
  const std::uint32_t mantissa = code & ((1u << format.mantissa) - 1);
  const std::uint32_t scale = (exponent == 0 ? 1u : exponent) + 127u - static_cast<std::uint32_t>(format.bias);
  const std::uint32_t leading = exponent == 0 ? 0u : 1u << format.mantissa;
  const float unit = std::bit_cast<float>((scale - static_cast<std::uint32_t>(format.mantissa)) << 23);
  const float value = static_cast<float>(leading + mantissa) * unit;
  return sign != 0 ? -value : value;
}

using Float8Table = std::array<float, 256>;
constexpr Float8Table MakeTable(Float8Kind kind) {
  Float8Table table = {};
  for (std::uint32_t bits = 0; bits < 256; ++bits) table[bits] = DecodeFloat8(kind, bits);
  return table;
}
constexpr Float8Table kFloat8Tables[] = {MakeTable(Float8Kind::kE4M3FN), MakeTable(Float8Kind::kE4M3FNUZ),
                                         MakeTable(Float8Kind::kE5M2), MakeTable(Float8Kind::kE5M2FNUZ),
                                         MakeTable(Float8Kind::kE8M0)};
constexpr float kFloat4Table[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};

}  // namespace

std::uint16_t Half::FromFloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits & kSignBit) >> 16);
  const std::uint32_t magnitude = bits & ~kSignBit;
  if (magnitude > kInfinity) return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude == kInfinity) return static_cast<std::uint16_t>(sign | 0x7c00u);
  const std::uint32_t code = Encode(magnitude, kHalfFormat);
  return static_cast<std::uint16_t>(sign | (code > kHalfFormat.largest ? 0x7c00u : code));
}

float Half::ToFloat(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t code = bits & 0x7fffu;
  if (code >= 0x7c00u) return std::bit_cast<float>(sign | kInfinity | ((code & 0x3ffu) << 13));
  if (code >= 0x0400u) return std::bit_cast<float>(sign | ((code << 13) + (112u << 23)));
  const float value = static_cast<float>(code) * 0x1p-24f;
  return sign != 0 ? -value : value;
}

std::uint16_t BFloat16::FromFloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & ~kSignBit) > kInfinity) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float Float8ToFloat(Float8Kind kind, std::uint8_t bits) { return kFloat8Tables[static_cast<std::size_t>(kind)][bits]; }

std::uint8_t Float8FromFloat(Float8Kind kind, float value, bool saturate) {
  if (kind == Float8Kind::kE8M0) return Float8E8M0FromFloat(value, saturate, E8M0Rounding::kUp);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & kSignBit) >> 24;
  const std::uint32_t magnitude = bits & ~kSignBit;
  const Format& format = kFloat8Formats[static_cast<std::size_t>(kind)];
  const bool unsigned_zero = HasNegativeZeroNaN(kind);
  const std::uint32_t nan = unsigned_zero ? 0x80u : sign | 0x7fu;
  if (magnitude > kInfinity) return static_cast<std::uint8_t>(nan);
  const std::uint32_t code = magnitude == kInfinity ? format.largest + 1 : Encode(magnitude, format);
  if (code > format.largest) {
    if (saturate) return static_cast<std::uint8_t>(sign | format.largest);
    return static_cast<std::uint8_t>(kind == Float8Kind::kE5M2 ? sign | 0x7cu : nan);
  }
  if (code == 0 && unsigned_zero) return 0;
  return static_cast<std::uint8_t>(sign | code);
}

std::uint8_t Float8E8M0FromFloat(float value, bool saturate, E8M0Rounding rounding) {
  constexpr std::uint32_t kSmallest = 0x00400000u;  // 2^-127
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & ~kSignBit;
  if (magnitude > kInfinity) return 0xff;
  if (magnitude == kInfinity) return saturate ? 0xfe : 0xff;
  if (magnitude <= kSmallest) return magnitude == kSmallest || saturate ? 0x00 : 0xff;
  // Between 2^-127 and 2^-126 the fraction stands in the lower 22 bits of a number without a leading one.
  const bool tiny = magnitude < 0x00800000u;
  const std::uint32_t fraction = tiny ? (magnitude & 0x003fffffu) << 1 : magnitude & 0x007fffffu;
  const bool up =
      rounding == E8M0Rounding::kUp ? fraction != 0 : rounding == E8M0Rounding::kNearest && fraction >= 0x00400000u;
  const std::uint32_t code = (tiny ? 0u : magnitude >> 23) + (up ? 1u : 0u);
  return static_cast<std::uint8_t>(code == 0xff && saturate ? 0xfe : code);
}

float Float4ToFloat(std::uint8_t bits) {
  const float value = kFloat4Table[bits & 7u];
  return (bits & 8u) != 0 ? -value : value;
}

std::uint8_t Float4FromFloat(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & ~kSignBit;
  if (magnitude > kInfinity) return bits & kSignBit ? 0x0 : 0x8;  // there is no NaN: -0 and 0, as in ml_dtypes
  const std::uint32_t sign = (bits & kSignBit) >> 28;
  const std::uint32_t code = magnitude == kInfinity ? kFloat4Format.largest : Encode(magnitude, kFloat4Format);
  return static_cast<std::uint8_t>(sign | (code > kFloat4Format.largest ? kFloat4Format.largest : code));
}

}  // namespace sardonyx
