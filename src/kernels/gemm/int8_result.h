// kernels/gemm/int8_result.h - how the 32-bit sums of 8-bit products are stored: as they are, as 8-bit values or as
// floats.
#pragma once

#include <cstdint>

namespace sardonyx::kernels {

enum class Int8Result : std::uint8_t {
  kSums,    // int32: sum
  kBytes,   // u8 or s8: min(max(round(sum * scale), low - zero), high - zero) + zero, halves to even
  kFloats,  // float: sum * scale + bias
};

// A value added to bytes as QLinearAdd adds it: with q the rounded and limited byte and z the added one,
// y = min(max(round(q * scale + (z * z_scale + constant)), lowest), highest): the first summand is added last. With
// z_first it is z.
struct Int8Sum {
  const void* z = nullptr;  // like y, of its type; null: nothing is added
  float scale = 1, z_scale = 1;
  float constant = 0;
  bool z_first = false;
};

// The bounds of a quantized type.
inline constexpr int LowestByte(bool is_signed) { return is_signed ? -128 : 0; }
inline constexpr int HighestByte(bool is_signed) { return is_signed ? 127 : 255; }

}  // namespace sardonyx::kernels
