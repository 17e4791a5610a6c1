// kernels/conv/conv_int8.h - 8-bit convolutions of 1, 2 and 3 spatial dimensions with exact 32-bit sums.
//
// sum = bias[m] + sum over the window of (x - x_zero) * (w - w_zero[m]), modulo 2^32, equal on every ISA; padding reads
// x_zero. gemm/int8_result.h says how y is made of the sums. Channels-last implicit GEMM on the integer tile, depthwise
// as its own loop; other layouts are converted on the way in and out. Nothing allocates or throws.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv.h"
#include "kernels/gemm/int8_result.h"

namespace sardonyx::kernels {

struct TileInt8Set;  // kernels/gemm/tile_int8.h

struct ConvInt8Args {
  ConvShape shape;          // algorithm: unused
  const void* x = nullptr;  // u8 or s8, in_layout
  bool x_signed = false;
  int x_zero = 0;
  const std::byte* packed_weights = nullptr;  // 64-byte aligned, from PackConvInt8Weights

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

// The packed form depends on channels, groups, kernel, dilations and the zero points of the weights, never on layouts,
// batch, image sizes, strides or pads.
std::size_t ConvInt8PackedBytes(const ConvShape& shape, const TileInt8Set* tiles = nullptr);
void PackConvInt8Weights(const ConvShape& shape, const ConvInt8Weights& weights, std::byte* packed, Parallel& parallel,
                         const TileInt8Set* tiles = nullptr);

// True if a convolution of these channels, groups and layouts can add a value.
bool ConvInt8Adds(const ConvShape& shape);

// Of shape, x_signed and tiles alone, for at most so many threads.
std::size_t ConvInt8ScratchBytes(const ConvInt8Args& args, int threads);
// scratch: ConvInt8ScratchBytes(args, parallel's threads) bytes, 64-byte aligned.
void ConvInt8(const ConvInt8Args& args, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
