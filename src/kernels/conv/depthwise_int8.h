// kernels/conv/depthwise_int8.h - 8-bit depthwise convolutions: their packed weights, and the loop of each ISA over a
// run of positions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv.h"
#include "kernels/conv/conv_int8_loops.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// Weights are w - w_zero in 16 bits, two taps side by side for the dot product of pairs: those of two rows of the
// kernel in one column and, in the last of an odd number of rows, of two columns; zeros where there is no second tap:
// [channel blocks][pairs of taps][kDepthwiseLanes][2].
inline constexpr std::int64_t kDepthwiseLanes = 16;
inline std::int64_t DepthwiseInt8BlockValues(std::int64_t taps) { return CeilDivide(taps, 2) * 2 * kDepthwiseLanes; }
inline std::size_t DepthwiseInt8PackedBytes(std::int64_t channels, std::int64_t taps) {
  return static_cast<std::size_t>(CeilDivide(channels, kDepthwiseLanes) * DepthwiseInt8BlockValues(taps)) * 2;
}
// Of a tap of a kernel of rows x columns taps, all depths of a kernel in one column of rows.
inline std::int64_t DepthwiseInt8Index(std::int64_t rows, std::int64_t columns, std::int64_t tap,
                                       std::int64_t channel) {
  const std::int64_t row = tap / columns, column = tap % columns;
  const bool alone = row % 2 == 0 && row + 1 == rows;
  const std::int64_t pair = row / 2 * columns + (alone ? column / 2 : column), second = (alone ? column : row) % 2;
  return channel / kDepthwiseLanes * DepthwiseInt8BlockValues(rows * columns) +
         (pair * kDepthwiseLanes + channel % kDepthwiseLanes) * 2 + second;
}

// Reads one column of taps more than there are, and whole blocks of channels: what lies there does not matter.
struct DepthwiseInt8Args {
  const std::byte* const* rows;        // [row_count] what each row of taps reads for a position `x_offset` before the
  std::ptrdiff_t x_offset;             // first one, channel 0
  std::int64_t row_count, columns;     // of the kernel
  std::ptrdiff_t x_step, column_step;  // bytes from a position and from a column of taps to the next
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

#define SDX_DECLARE(isa)                                      \
  namespace isa {                                             \
  DepthwiseInt8Fn DepthwiseInt8Signed, DepthwiseInt8Unsigned; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

std::size_t DepthwiseInt8ScratchBytes(const ConvShape& shape, int threads);
// g: of groups of one channel, its panels as above, x the image as it is, of `x_zero` in its padding.
void RunDepthwiseInt8(const ConvShape& s, bool x_signed, int x_zero, const IntegerConvolution& g, Parallel& parallel,
                      std::byte* scratch);

}  // namespace sardonyx::kernels
