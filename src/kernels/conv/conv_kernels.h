// kernels/conv/conv_kernels.h - the inner loops of convolutions beyond the GEMM tile, one set per ISA.
//
// To add a loop: a function type and a field here, its declaration below, its definition in a *.isa.cpp, its line in
// conv_kernels.isa.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// What a loop does with its sums before it stores them; activations that are no clamp follow in a pass of their own.
// y = min(max(alpha * sum + bias_scale * (bias_n[channel] + bias) + beta * residual, low), high)
struct LinearEpilogue {
  float alpha = 1, beta = 1, bias_scale = 1, bias = 0;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  const float* bias_n = nullptr;    // channel 0 of the call, or null
  const float* residual = nullptr;  // where y is in it, or null; may be y
};

// Up to 4 rows of outputs of a depthwise convolution, all columns and channels; channels-last.
// y[r, p, c] = sum over kh, kw of w[kh, kw, c] * x[row + r * row_step + kh, column + p * column_step + kw, c],
// where positions of x outside its rows and columns read as 0.
inline constexpr std::int64_t kDepthwiseRows = 4;
struct DepthwiseBandArgs {
  const float* x;  // channel 0 of the first position of the image
  std::int64_t in_rows, in_columns;
  std::ptrdiff_t x_row_stride, x_pixel_stride;  // floats
  std::int64_t row, column;                     // of x, what the first tap of the first output reads; may be negative
  std::int64_t row_step;                        // the column step belongs to the function
  const float* w;                               // [channel blocks][kernel_rows][kernel columns][lanes]
  std::int64_t kernel_rows;
  float* y;  // the first output
  std::ptrdiff_t y_row_stride, y_pixel_stride;
  std::int64_t rows, columns, channels;  // outputs; rows: up to kDepthwiseRows
  LinearEpilogue epilogue;
};
using DepthwiseBandFn = void(const DepthwiseBandArgs& args);

// A run of output positions of a depthwise convolution with a box of taps (depth, height, width):
// y[p, c] = sum over taps t of w[t . w_step, c] * x[t . x_tap_step + p * x_step + c].
struct DepthwiseRunArgs {
  const float* x;                 // what the first tap of the first position reads
  std::ptrdiff_t x_step, y_step;  // floats from a position to the next
  std::int64_t taps[3];
  std::ptrdiff_t x_tap_step[3];
  const float* w;  // the first tap: [channel blocks][w_block floats]
  std::int64_t w_block;
  std::int64_t w_step[3];  // vectors
  std::int64_t pixels, channels;
  float* y;
  LinearEpilogue epilogue;
};
using DepthwiseRunFn = void(const DepthwiseRunArgs& args);

// Rows of outputs of one group of a convolution, one vector of its channels; channels-last, three kernel columns.
// y[r, p, j] = sum over kh, kw, c of w[kh, kw, c, j] * x[row + r * row_step + kh, column + p * column_step + kw, c],
// where positions of x outside its rows read as 0, and outside its columns, too: one on the left, one on the right.
inline constexpr std::int64_t kMostGroupedChannels = 64;
struct GroupedBandArgs {
  const float* x;  // the group's channel 0 of the first position of the image
  std::int64_t in_rows, in_columns, in_channels;
  std::ptrdiff_t x_row_stride, x_pixel_stride;  // floats
  std::int64_t row, column;                     // of x, what the first tap of the first output reads
  std::int64_t row_step;                        // the column step belongs to the function
  const float* w;
  std::ptrdiff_t w_tap_stride, w_channel_stride;  // floats
  std::int64_t kernel_rows;
  float* y;  // the first output
  std::ptrdiff_t y_row_stride, y_pixel_stride;
  std::int64_t rows, columns, channels;  // outputs; channels: up to a vector
  LinearEpilogue epilogue;
};
using GroupedBandFn = void(const GroupedBandArgs& args);

// The input transform of a row of Winograd tiles: v[p * v_plane + tile * v_row + c] for the positions p of a
// transformed tile. Tile t reads from (row, column + t * M) on; positions of x outside its rows and columns read as 0.
struct WinogradInArgs {
  const float* x;  // channel 0 of the first position of the image
  std::int64_t in_rows, in_columns;
  std::ptrdiff_t x_row_stride, x_pixel_stride;  // floats
  std::int64_t row, column;                     // may be negative
  std::int64_t tiles, channels;
  float* v;
  std::ptrdiff_t v_plane, v_row;
};
using WinogradInFn = void(const WinogradInArgs& args);

// The output transform of a row of tiles: `rows` x `columns` outputs of `channels` channels.
struct WinogradOutArgs {
  const float* m;  // [positions of a tile][tiles][channels], whole vectors
  std::ptrdiff_t m_plane, m_row;
  std::int64_t tiles, rows, columns, channels;
  float* y;
  std::ptrdiff_t y_row_stride, y_pixel_stride;
  LinearEpilogue epilogue;
};
using WinogradOutFn = void(const WinogradOutArgs& args);

// The transforms of a panel's 3x3 kernels: u[p][c][j] for the positions p of a transformed tile, input channels c and
// output channels j of the panel, which is two vectors wide; those from `columns` on are 0.
struct WinogradWeightsArgs {
  const float* w;  // [columns][channels][9]
  std::int64_t columns, channels;
  float* u;
};
using WinogradWeightsFn = void(const WinogradWeightsArgs& args);

struct ConvKernels {
  Isa isa;
  std::int64_t lanes;  // floats of a vector: the channel blocks of depthwise weights
  // For 3, 5 or 7 kernel columns and a column step of 1 or 2; null for others.
  DepthwiseBandFn* (*depthwise_band)(std::int64_t kernel_columns, std::int64_t column_step);
  DepthwiseRunFn* depthwise_run;
  GroupedBandFn *grouped_band1, *grouped_band2;  // column steps of 1 and 2
  // Winograd with 2 x 2 and 4 x 4 outputs a tile.
  WinogradInFn *winograd_in2, *winograd_in4;
  WinogradOutFn *winograd_out2, *winograd_out4;
  WinogradWeightsFn *winograd_weights2, *winograd_weights4;
};

#define SDX_DECLARE(isa)                                                                    \
  namespace isa {                                                                           \
  const ConvKernels& ConvKernelSet();                                                       \
  DepthwiseBandFn* DepthwiseBandFor(std::int64_t kernel_columns, std::int64_t column_step); \
  DepthwiseRunFn DepthwiseRun;                                                              \
  GroupedBandFn GroupedBand1, GroupedBand2;                                                 \
  WinogradInFn WinogradIn2, WinogradIn4;                                                    \
  WinogradOutFn WinogradOut2, WinogradOut4;                                                 \
  WinogradWeightsFn WinogradWeights2, WinogradWeights4;                                     \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// The set of an ISA that this CPU has.
const ConvKernels& ConvKernelsOf(Isa isa);

}  // namespace sardonyx::kernels
