// kernels/gemm/int8_result.h - what becomes of the 32-bit sums of 8-bit products: themselves, 8-bit values or floats.
#pragma once

#include <cstdint>

namespace sardonyx::kernels {

enum class Int8Result : std::uint8_t {
  kSums,    // int32: sum
  kBytes,   // u8 or s8: min(max(round(sum * scale), low - zero), high - zero) + zero, halves to even
  kFloats,  // float: sum * scale + bias
};

// The bounds of a quantized type.
inline constexpr int LowestByte(bool is_signed) { return is_signed ? -128 : 0; }
inline constexpr int HighestByte(bool is_signed) { return is_signed ? 127 : 255; }

}  // namespace sardonyx::kernels
