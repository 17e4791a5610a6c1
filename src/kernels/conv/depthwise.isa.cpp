// kernels/conv/depthwise.isa.cpp - depthwise convolution of channels-first planes.
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

}  // namespace sardonyx::kernels::SDX_ISA
