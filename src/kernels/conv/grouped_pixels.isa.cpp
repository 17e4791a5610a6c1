// kernels/conv/grouped_pixels.isa.cpp - convolution of a few channels with a few, three columns wide, channels last.
//
// A tile holds one vector of output channels of up to 12 pixels of a row. A value of x, broadcast once, serves all
// three columns of the kernel: the tile of products, which takes one tap after the other, loads it three times and
// would wait for its loads.
#include <utility>

#include "kernels/conv/linear_ending.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr int kTaps = 3;         // of a kernel row
constexpr int kMostPixels = 12;  // sums; with the weights of a row and a value of x they fill 16 registers
constexpr int kMostStrided = 8;  // a step of two reads twice the positions: no more of them can be addressed at once

constexpr int64_t kShortSum = 72;  // starts from the bias

alignas(64) constexpr float kZeros[kMostGroupedChannels] = {};  // a pixel outside the image

// Outputs [first, first + P) of a row whose first tap reads row `top`.
template <int P, int S>
void Tile(const GroupedBandArgs& d, int64_t row, int64_t first) {
  constexpr int kCount = (P - 1) * S + kTaps;  // positions of x in a row
  const bool short_sum = d.kernel_rows * kTaps * d.in_channels <= kShortSum;
  const Ending ending(d.epilogue, 0, FirstLanes(d.channels), short_sum);
  const ptrdiff_t at = row * d.y_row_stride + first * d.y_pixel_stride;
#pragma GCC unroll 16
  for (int p = 0; p < P; ++p) PrefetchForWriting(d.y + at + p * d.y_pixel_stride);
  Vec acc[P];
#pragma GCC unroll 16
  for (int p = 0; p < P; ++p) acc[p] = ending.Start();
  const int64_t top = d.row + row * d.row_step, column = d.column + first * S;
  const int64_t begin = top < 0 ? -top : 0, end = d.kernel_rows < d.in_rows - top ? d.kernel_rows : d.in_rows - top;
  const bool left_inside = column >= 0, right_inside = column + kCount <= d.in_columns;
  const ptrdiff_t l1 = d.x_pixel_stride * 4, l3 = 3 * l1, l5 = 5 * l1, l7 = 7 * l1, tap = d.w_tap_stride;
  for (int64_t kh = begin; kh < end; ++kh) {
    const float* x = d.x + (top + kh) * d.x_row_stride + column * d.x_pixel_stride;
    const float* left = left_inside ? x : kZeros;
    const float* right = right_inside ? x + (kCount - 1) * d.x_pixel_stride : kZeros;
    const char* low = reinterpret_cast<const char*>(x);
    const char* high = low + 8 * l1;
    const float* w = d.w + kh * kTaps * tap;
#pragma GCC unroll 2
    for (int64_t c = 0; c < d.in_channels; ++c) {
      Vec weights[kTaps];
#pragma GCC unroll 4
      for (int k = 0; k < kTaps; ++k) weights[k] = Load(w + k * tap);
#pragma GCC unroll 32
      for (int j = 0; j < kCount; ++j) {
        const int rest = j % 8;
        const ptrdiff_t offset = rest == 0   ? 0
                                 : rest == 1 ? l1
                                 : rest == 2 ? l1 * 2
                                 : rest == 3 ? l3
                                 : rest == 4 ? l1 * 4
                                 : rest == 5 ? l5
                                 : rest == 6 ? l3 * 2
                                             : l7;
        const auto* from = j == 0            ? left
                           : j == kCount - 1 ? right
                                             : reinterpret_cast<const float*>((j < 8 ? low : high) + offset);
        const Vec value = Broadcast(*from);
#pragma GCC unroll 4
        for (int k = 0; k < kTaps; ++k)
          if (j >= k && (j - k) % S == 0 && (j - k) / S < P) acc[(j - k) / S] += value * weights[k];
      }
      ++left, ++right, low += sizeof(float), high += sizeof(float), w += d.w_channel_stride;
    }
  }
  ending.Store(acc, P, at, d.y_pixel_stride, d.y);
}

using TileFn = void(const GroupedBandArgs& d, int64_t row, int64_t first);

template <int S, int... I>
constexpr auto MakeTable(std::integer_sequence<int, I...>) {
  struct Table {
    TileFn* run[sizeof...(I)];
  };
  return Table{{Tile<I + 1, S>...}};
}

template <int S, int kMost>
void Band(const GroupedBandArgs& d) {
  static constexpr auto kTable = MakeTable<S>(std::make_integer_sequence<int, kMost>());
  const int64_t parts = (d.columns + kMost - 1) / kMost;
  for (int64_t row = 0; row < d.rows; ++row)
    for (int64_t i = 0; i < parts; ++i) {
      const int64_t first = d.columns * i / parts;
      kTable.run[d.columns * (i + 1) / parts - first - 1](d, row, first);
    }
}

}  // namespace

void GroupedBand1(const GroupedBandArgs& d) { Band<1, kMostPixels>(d); }
void GroupedBand2(const GroupedBandArgs& d) { Band<2, kMostStrided>(d); }

}  // namespace sardonyx::kernels::SDX_ISA
