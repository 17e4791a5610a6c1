// kernels/conv/depthwise.isa.cpp - depthwise convolution: planes (channels first) and pixels (channels last).
#include "kernels/gemm/row_f32.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

// R rows x V vectors of a plane, from (row, column) on. Loads may read past the columns, stores do not.
template <int R, int V>
void PlaneBlock(const PlaneArgs& d, int64_t row, int64_t column) {
  const float* x = d.x + row * d.x_row_stride + column;
  Vec acc[R][V];
#pragma GCC unroll 4
  for (ptrdiff_t r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (ptrdiff_t v = 0; v < V; ++v) acc[r][v] = Broadcast(0);
  for (int64_t t = 0; t < d.taps; ++t) {
    const Vec weight = Broadcast(d.w[t]);
    const float* p = x + d.offsets[t];
#pragma GCC unroll 4
    for (ptrdiff_t r = 0; r < R; ++r)
#pragma GCC unroll 2
      for (ptrdiff_t v = 0; v < V; ++v) acc[r][v] += weight * Load(p + r * d.x_row_stride + v * kLanes);
  }
  const Vec alpha = Broadcast(d.alpha), bias = Broadcast(d.bias), beta = Broadcast(d.beta);
  const Vec low = Broadcast(d.low), high = Broadcast(d.high);
  const ptrdiff_t at = row * d.y_row_stride + column;
#pragma GCC unroll 4
  for (ptrdiff_t r = 0; r < R; ++r)
#pragma GCC unroll 2
    for (ptrdiff_t v = 0; v < V; ++v) {
      const Lanes lanes = FirstLanes(d.columns - column - v * kLanes);
      const ptrdiff_t to = at + r * d.y_row_stride + v * kLanes;
      Vec y = alpha * acc[r][v] + bias;
      if (d.residual != nullptr) y += beta * Load(d.residual + to, lanes);
      Store(d.y + to, Min(high, Max(low, y)), lanes);
    }
}

template <int R>
void PlaneRows(const PlaneArgs& d, int64_t row) {
  int64_t column = 0;
  for (; column + kLanes < d.columns; column += 2 * kLanes) PlaneBlock<R, 2>(d, row, column);
  if (column < d.columns) PlaneBlock<R, 1>(d, row, column);
}

// P pixels x V vectors of channels, of which `lanes` of the last exist.
template <int P, int V>
void PixelBlock(const DepthwiseArgs& d, int64_t pixel, int64_t channel) {
  const float* x = d.x + pixel * d.pixel_stride + channel;
  const float* w = d.w + channel;
  float* sums = d.sums + pixel * d.sums_stride + channel;
  Lanes lanes[V];
  for (ptrdiff_t v = 0; v < V; ++v) lanes[v] = FirstLanes(d.channels - channel - v * kLanes);
  Vec acc[P][V];
#pragma GCC unroll 8
  for (ptrdiff_t p = 0; p < P; ++p)
#pragma GCC unroll 4
    for (ptrdiff_t v = 0; v < V; ++v)
      acc[p][v] = d.accumulate ? Load(sums + p * d.sums_stride + v * kLanes, lanes[v]) : Broadcast(0);
  for (int64_t t = 0; t < d.taps; ++t) {
    const float* px = x + d.x_offsets[t];
    Vec weight[V];
#pragma GCC unroll 4
    for (ptrdiff_t v = 0; v < V; ++v) weight[v] = Load(w + d.w_offsets[t] + v * kLanes, lanes[v]);
#pragma GCC unroll 8
    for (ptrdiff_t p = 0; p < P; ++p)
#pragma GCC unroll 4
      for (ptrdiff_t v = 0; v < V; ++v) acc[p][v] += weight[v] * Load(px + p * d.pixel_stride + v * kLanes, lanes[v]);
  }
#pragma GCC unroll 8
  for (ptrdiff_t p = 0; p < P; ++p)
#pragma GCC unroll 4
    for (ptrdiff_t v = 0; v < V; ++v) Store(sums + p * d.sums_stride + v * kLanes, acc[p][v], lanes[v]);
}

}  // namespace

void DepthwisePlane(const PlaneArgs& d) {
  int64_t row = 0;
  for (; row + 4 <= d.rows; row += 4) PlaneRows<4>(d, row);
  for (; row < d.rows; ++row) PlaneRows<1>(d, row);
}

void SplitPairs(const float* src, int64_t pairs, float* even, float* odd) {
  int64_t i = 0;
  for (; i + 4 <= pairs; i += 4) {
    Quad a, b;
    std::memcpy(&a, src + 2 * i, sizeof a);
    std::memcpy(&b, src + 2 * i + 4, sizeof b);
    const Quad e = __builtin_shufflevector(a, b, 0, 2, 4, 6), o = __builtin_shufflevector(a, b, 1, 3, 5, 7);
    std::memcpy(even + i, &e, sizeof e);
    std::memcpy(odd + i, &o, sizeof o);
  }
  for (; i < pairs; ++i) even[i] = src[2 * i], odd[i] = src[2 * i + 1];
}

void DepthwisePixels(const DepthwiseArgs& d) {
  for (int64_t c = 0; c < d.channels; c += 2 * kLanes) {
    int64_t p = 0;
    for (; p + 4 <= d.pixels; p += 4) PixelBlock<4, 2>(d, p, c);
    for (; p < d.pixels; ++p) PixelBlock<1, 2>(d, p, c);
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
