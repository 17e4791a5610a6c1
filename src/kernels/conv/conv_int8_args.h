// kernels/conv/conv_int8_args.h - what an 8-bit convolution (conv_int8.h) computes, and the ways to do it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv.h"
#include "kernels/gemm/int8_result.h"

namespace sardonyx::kernels {

struct TileInt8Set;  // kernels/gemm/tile_int8.h

// How sums are computed, which decides the form of packed weights.
enum class ConvInt8Way : std::uint8_t {
  kAnyWeights,
  kSmallWeights,  // as bytes where others would need 16 bits: weights within -64..64 that are read as they are
  kWinograd,      // 3x3 kernels of stride 1 (winograd_int8.h)
};

struct ConvInt8Args {
  ConvShape shape;          // algorithm: unused
  const void* x = nullptr;  // u8 or s8, in_layout
  bool x_signed = false;
  int x_zero = 0;
  const std::byte* packed_weights = nullptr;  // 64-byte aligned, from PackConvInt8Weights
  ConvInt8Way way = ConvInt8Way::kAnyWeights;

  const std::int32_t* bias = nullptr;  // [out_channels]; null: 0
  Int8Result result = Int8Result::kSums;
  void* y = nullptr;              // out_layout, of the result's type; overlaps neither x nor the weights
  const float* scales = nullptr;  // [out_channels]; not for kSums
  int y_zero = 0;                 // kBytes
  bool y_signed = false;
  Int8Sum sum;                           // kBytes, channels-last outputs and no depthwise convolutions (ConvInt8Adds)
  const TileInt8Set* tiles = nullptr;    // null: the best of this CPU; tests name others
  std::atomic<bool>* is_wide = nullptr;  // false at first; of these weights (gemm/clipped_product.h)
};

// w: u8 or s8 [out_channels, in_channels / groups, kD, kH, kW]; zeros: its zero points, of its type, `zero_count` (0, 1
// or out_channels) of them.
struct ConvInt8Weights {
  const void* w = nullptr;
  bool w_signed = true;
  const void* zeros = nullptr;
  std::int64_t zero_count = 0;
};

}  // namespace sardonyx::kernels
