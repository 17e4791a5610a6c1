// kernels/conv/depthwise_pixels.isa.cpp - depthwise convolution of channels-last images, one vector of channels at a
// time.
//
// A block holds the sums of up to 4 x 4 outputs in registers (2 x 4 where there are 16 registers), so that a loaded
// vector of x serves all the taps that read it. Blocks at the border, and the last channels, take the masked form.
#include "kernels/conv/linear_ending.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr int kColumns = 4;
constexpr int kRegisterRows = kLanes == 16 ? 4 : 2;

// The vectors of one row of x that a block reads.
template <int K, int S, bool kMasked>
struct Reads {
  static constexpr int kCount = (kColumns - 1) * S + K;
  Lanes lanes[kCount];
  Vec v[kCount];

  // The first one lies in `column`, of in_columns.
  void Mask(int64_t column, int64_t in_columns, Lanes channels) {
    if (!kMasked) return;
    for (int j = 0; j < kCount; ++j) lanes[j] = column + j >= 0 && column + j < in_columns ? channels : FirstLanes(0);
  }
  void Read(const float* x, ptrdiff_t pixel_stride) {
#pragma GCC unroll 16
    for (int j = 0; j < kCount; ++j) v[j] = kMasked ? Load(x + j * pixel_stride, lanes[j]) : Load(x + j * pixel_stride);
  }
  // acc[p] += one row of weights
  void Add(const float* w, Vec (&acc)[kColumns]) const {
#pragma GCC unroll 8
    for (int k = 0; k < K; ++k) {
      const Vec weight = Load(w + k * kLanes);
#pragma GCC unroll 4
      for (int p = 0; p < kColumns; ++p) acc[p] += weight * v[p * S + k];
    }
  }
};

// Outputs [first_row, first_row + R) x [first_column, first_column + kColumns), channels [c, c + kLanes). kMasked: some
// positions or channels do not exist. kSquare: kernel_rows is K and row_step is S.
template <int K, int S, int R, bool kMasked, bool kSquare>
void Block(const DepthwiseBandArgs& d, int64_t first_row, int64_t first_column, int64_t c) {
  const Lanes channels = kMasked ? FirstLanes(d.channels - c) : FirstLanes(kLanes);
  const Ending ending(d.epilogue, c, channels);
  const int64_t column = d.column + first_column * S;
  Reads<K, S, kMasked> reads;
  reads.Mask(column, d.in_columns, channels);
  Vec acc[R][kColumns];
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < kColumns; ++p) acc[r][p] = ending.Start();
  const int64_t step = kSquare ? S : d.row_step, kernel_rows = kSquare ? K : d.kernel_rows;
  const int64_t top = d.row + first_row * step, span = (R - 1) * step + kernel_rows;
  const int64_t begin = top < 0 ? -top : 0, end = span < d.in_rows - top ? span : d.in_rows - top;
  const float* w = d.w + c * kernel_rows * K;
  const float* x = d.x + top * d.x_row_stride + column * d.x_pixel_stride + c;
  if (kSquare) {
#pragma GCC unroll 16
    for (int i = 0; i < (R - 1) * S + K; ++i, x += d.x_row_stride) {
      if (i < begin || i >= end) continue;
      reads.Read(x, d.x_pixel_stride);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
        if (i >= r * S && i < r * S + K) reads.Add(w + (i - r * S) * K * kLanes, acc[r]);
    }
  } else {
    x += begin * d.x_row_stride;
    for (int64_t i = begin; i < end; ++i, x += d.x_row_stride) {
      reads.Read(x, d.x_pixel_stride);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const int64_t kh = i - r * step;
        if (kh >= 0 && kh < kernel_rows) reads.Add(w + kh * K * kLanes, acc[r]);
      }
    }
  }
  const int64_t count = kMasked ? d.columns - first_column : kColumns;
  const ptrdiff_t at = first_row * d.y_row_stride + first_column * d.y_pixel_stride + c;
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r) ending.Store(acc[r], count, at + r * d.y_row_stride, d.y_pixel_stride, d.y);
}

template <int K, int S, bool kMasked, bool kSquare>
void Rows(const DepthwiseBandArgs& d, int64_t column, int64_t c) {
  constexpr int kMost = kRegisterRows;
  int64_t row = 0;
  for (; row + kMost <= d.rows; row += kMost) Block<K, S, kMost, kMasked, kSquare>(d, row, column, c);
  switch (d.rows - row) {
    case 3:
      return Block < K, S, kMost == 4 ? 3 : 1, kMasked, kSquare > (d, row, column, c);
    case 2:
      return Block<K, S, 2, kMasked, kSquare>(d, row, column, c);
    case 1:
      return Block<K, S, 1, kMasked, kSquare>(d, row, column, c);
    default:
      return;
  }
}

template <int K, int S, bool kSquare>
void Columns(const DepthwiseBandArgs& d) {
  for (int64_t column = 0; column < d.columns; column += kColumns) {
    const int64_t from = d.column + column * S;
    const bool inside = from >= 0 && from + (kColumns - 1) * S + K <= d.in_columns && column + kColumns <= d.columns;
    const int64_t whole = inside ? d.channels / kLanes * kLanes : 0;
    for (int64_t c = 0; c < whole; c += kLanes) Rows<K, S, false, kSquare>(d, column, c);
    for (int64_t c = whole; c < d.channels; c += kLanes) Rows<K, S, true, kSquare>(d, column, c);
  }
}

// Small kernels are worth code of their own without branches between the rows.
template <int K, int S>
void BandOf(const DepthwiseBandArgs& d) {
  if (K == 3 && d.kernel_rows == K && d.row_step == S) return Columns<K, S, K == 3>(d);
  Columns<K, S, false>(d);
}

// P positions of a run, one vector of channels.
template <int P>
void RunBlock(const DepthwiseRunArgs& d, int64_t pixel, int64_t c) {
  const Lanes lanes = FirstLanes(d.channels - c);
  const float* x = d.x + pixel * d.x_step + c;
  const float* w = d.w + c / kLanes * d.w_block;
  const Ending ending(d.epilogue, c, lanes);
  Vec acc[P];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p) acc[p] = ending.Start();
  for (int64_t kd = 0; kd < d.taps[0]; ++kd)
    for (int64_t kh = 0; kh < d.taps[1]; ++kh) {
      const float* from = x + kd * d.x_tap_step[0] + kh * d.x_tap_step[1];
      const float* weights = w + (kd * d.w_step[0] + kh * d.w_step[1]) * kLanes;
      for (int64_t kw = 0; kw < d.taps[2]; ++kw, from += d.x_tap_step[2], weights += d.w_step[2] * kLanes) {
        const Vec weight = Load(weights);
#pragma GCC unroll 8
        for (int p = 0; p < P; ++p) acc[p] += weight * Load(from + p * d.x_step, lanes);
      }
    }
  ending.Store(acc, P, pixel * d.y_step + c, d.y_step, d.y);
}

}  // namespace

DepthwiseBandFn* DepthwiseBandFor(int64_t kernel_columns, int64_t column_step) {
  if (column_step == 1)
    return kernel_columns == 3   ? BandOf<3, 1>
           : kernel_columns == 5 ? BandOf<5, 1>
           : kernel_columns == 7 ? BandOf<7, 1>
                                 : nullptr;
  if (column_step == 2)
    return kernel_columns == 3   ? BandOf<3, 2>
           : kernel_columns == 5 ? BandOf<5, 2>
           : kernel_columns == 7 ? BandOf<7, 2>
                                 : nullptr;
  return nullptr;
}

void DepthwiseRun(const DepthwiseRunArgs& d) {
  int64_t p = 0;
  for (; p + 8 <= d.pixels; p += 8)
    for (int64_t c = 0; c < d.channels; c += kLanes) RunBlock<8>(d, p, c);
  for (; p < d.pixels; ++p)
    for (int64_t c = 0; c < d.channels; c += kLanes) RunBlock<1>(d, p, c);
}

}  // namespace sardonyx::kernels::SDX_ISA
