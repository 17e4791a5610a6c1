// kernels/conv/depthwise_int8.h - 8-bit depthwise convolutions: their packed weights, and the loop of each ISA over a
// run of positions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv_int8_loops.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// Weights are w - w_zero in 16 bits, two taps side by side for the dot product of pairs; behind an odd number of taps
// stand zeros: [channel blocks][pairs of taps][kDepthwiseLanes][2].
inline constexpr std::int64_t kDepthwiseLanes = 16;
inline std::int64_t DepthwiseInt8BlockValues(std::int64_t taps) { return CeilDivide(taps, 2) * 2 * kDepthwiseLanes; }
inline std::size_t DepthwiseInt8PackedBytes(std::int64_t channels, std::int64_t taps) {
  return static_cast<std::size_t>(CeilDivide(channels, kDepthwiseLanes) * DepthwiseInt8BlockValues(taps)) * 2;
}
inline std::int64_t DepthwiseInt8Index(std::int64_t taps, std::int64_t tap, std::int64_t channel) {
  return channel / kDepthwiseLanes * DepthwiseInt8BlockValues(taps) +
         (tap / 2 * kDepthwiseLanes + channel % kDepthwiseLanes) * 2 + tap % 2;
}

struct DepthwiseInt8Args {
  const std::byte* x;  // what offset 0 means for the first position, channel 0
  std::ptrdiff_t x_step;
  const std::ptrdiff_t* offsets;  // [taps] bytes
  std::int64_t taps;
  const std::int16_t* w;
  std::ptrdiff_t w_block;  // elements from a block of channels to the next
  std::int64_t pixels, channels;
  const std::uint32_t* terms;  // [channels]
  Int8Result result;
  const float* scales;
  float low, high;
  std::uint32_t zero;
  std::byte* y;           // channels of a position lie in a row
  std::ptrdiff_t y_step;  // elements of the result's type from a position to the next
};
using DepthwiseInt8Fn = void(const DepthwiseInt8Args& args);

#define SDX_DECLARE(isa)                                  \
  namespace isa {                                         \
  DepthwiseInt8Fn DepthwiseInt8Bytes, DepthwiseInt8Words; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// g: of groups of one channel, its panels as above; runs are taps.
void RunDepthwiseInt8(const IntegerConvolution& g, Parallel& parallel);

}  // namespace sardonyx::kernels
