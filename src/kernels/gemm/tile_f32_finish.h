// kernels/gemm/tile_f32_finish.h - what becomes of the sums of a f32 tile: the linear part of the epilogue.
//
// Include only from *.isa.cpp.
#pragma once

#include "kernels/gemm/tile_f32_args.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {

inline Vec BiasOf(const TileF32Args& t, ptrdiff_t v) {
  Vec bias = Broadcast(t.bias);
  if (t.bias_n != nullptr) bias += Load(t.bias_n + v * kLanes, FirstLanes(t.columns - v * kLanes));
  return bias * Broadcast(t.bias_scale);
}

// Calls f(row, v) for every vector of the tile.
template <int R, int V, typename F>
inline __attribute__((always_inline)) void ForEach(F f) {
#pragma GCC unroll 16
  for (ptrdiff_t r = 0; r < R; ++r)
#pragma GCC unroll 4
    for (ptrdiff_t v = 0; v < V; ++v) f(r, v);
}

// Stores the sums of a tile after the linear part of the epilogue; `biased`: they started from the bias. What is rare
// is left out as a whole: every operation on a tile costs as much as a step of a short sum.
template <int R, int V>
inline __attribute__((always_inline)) void StoreTile(const TileF32Args& t, bool biased, Vec (&acc)[R][V]) {
  constexpr ptrdiff_t kRun = (R + 1) / 2;
  const auto place = [](float* p, float* q, ptrdiff_t stride, ptrdiff_t r) {
    return r < kRun ? p + r * stride : q + (r - kRun) * stride;
  };
  const auto residual = [&](ptrdiff_t r) {
    return r < kRun ? t.residual0 + r * t.residual_row_stride : t.residual1 + (r - kRun) * t.residual_row_stride;
  };
  if (t.alpha != 1) {
    const Vec alpha = Broadcast(t.alpha);
    ForEach<R, V>([&](ptrdiff_t r, ptrdiff_t v) { acc[r][v] *= alpha; });
  }
  if (!biased && (t.bias_n != nullptr || t.bias != 0)) {
    Vec bias[V];
    for (ptrdiff_t v = 0; v < V; ++v) bias[v] = BiasOf(t, v);
    ForEach<R, V>([&](ptrdiff_t r, ptrdiff_t v) { acc[r][v] += bias[v]; });
  }
  if (t.bias_m != nullptr)
    ForEach<R, V>([&](ptrdiff_t r, ptrdiff_t v) { acc[r][v] += Broadcast(t.bias_scale * t.bias_m[r]); });
  const bool whole = t.columns == V * kLanes;
  Lanes lanes[V];
  for (ptrdiff_t v = 0; v < V; ++v) lanes[v] = FirstLanes(t.columns - v * kLanes);
  if (t.residual0 != nullptr) {
    const Vec beta = Broadcast(t.beta);
    ForEach<R, V>([&](ptrdiff_t r, ptrdiff_t v) { acc[r][v] += beta * Load(residual(r) + v * kLanes, lanes[v]); });
  }
  if (t.low > -__builtin_inff()) {
    const Vec low = Broadcast(t.low);
    ForEach<R, V>([&](ptrdiff_t r, ptrdiff_t v) { acc[r][v] = Max(low, acc[r][v]); });
  }
  if (t.high < __builtin_inff()) {
    const Vec high = Broadcast(t.high);
    ForEach<R, V>([&](ptrdiff_t r, ptrdiff_t v) { acc[r][v] = Min(high, acc[r][v]); });
  }
  if (whole) {
    ForEach<R, V>(
        [&](ptrdiff_t r, ptrdiff_t v) { Store(place(t.c0, t.c1, t.c_row_stride, r) + v * kLanes, acc[r][v]); });
  } else {
    ForEach<R, V>([&](ptrdiff_t r, ptrdiff_t v) {
      Store(place(t.c0, t.c1, t.c_row_stride, r) + v * kLanes, acc[r][v], lanes[v]);
    });
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
