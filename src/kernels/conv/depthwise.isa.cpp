// kernels/conv/depthwise.isa.cpp - depthwise convolution: planes (channels first) and pixels (channels last).
#include "kernels/gemm/row_f32.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

template <int V>
void SumBlock(const float* x, const ptrdiff_t* offsets, const float* w, int64_t taps, float* sums) {
  Vec acc[V];
  for (int v = 0; v < V; ++v) acc[v] = Broadcast(0);
  for (int64_t t = 0; t < taps; ++t) {
    const Vec weight = Broadcast(w[t]);
    const float* p = x + offsets[t];
#pragma GCC unroll 8
    for (int v = 0; v < V; ++v) acc[v] += weight * Load(p + v * kLanes);
  }
  for (int v = 0; v < V; ++v) Store(sums + v * kLanes, acc[v]);
}

// P pixels x V vectors of channels, of which `lanes` of the last exist.
template <int P, int V>
void PixelBlock(const DepthwiseArgs& d, int64_t pixel, int64_t channel) {
  const float* x = d.x + pixel * d.pixel_stride + channel;
  const float* w = d.w + channel;
  float* sums = d.sums + pixel * d.sums_stride + channel;
  Lanes lanes[V];
  for (int v = 0; v < V; ++v) lanes[v] = FirstLanes(d.channels - channel - v * kLanes);
  Vec acc[P][V];
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v)
      acc[p][v] = d.accumulate ? Load(sums + p * d.sums_stride + v * kLanes, lanes[v]) : Broadcast(0);
  for (int64_t t = 0; t < d.taps; ++t) {
    const float* px = x + d.x_offsets[t];
    Vec weight[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) weight[v] = Load(w + d.w_offsets[t] + v * kLanes, lanes[v]);
#pragma GCC unroll 8
    for (int p = 0; p < P; ++p)
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) acc[p][v] += weight[v] * Load(px + p * d.pixel_stride + v * kLanes, lanes[v]);
  }
#pragma GCC unroll 8
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) Store(sums + p * d.sums_stride + v * kLanes, acc[p][v], lanes[v]);
}

}  // namespace

void WeightedSums(const float* x, const ptrdiff_t* offsets, const float* w, int64_t taps, int64_t count, float* sums) {
  constexpr int kBlock = 6 * kLanes;
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) SumBlock<6>(x + i, offsets, w, taps, sums + i);
  for (; i + kLanes <= count; i += kLanes) SumBlock<1>(x + i, offsets, w, taps, sums + i);
  if (i == count) return;
  const Lanes lanes = FirstLanes(count - i);
  Vec acc = Broadcast(0);
  for (int64_t t = 0; t < taps; ++t) acc += Broadcast(w[t]) * Load(x + i + offsets[t], lanes);
  Store(sums + i, acc, lanes);
}

void DepthwisePixels(const DepthwiseArgs& d) {
  for (int64_t c = 0; c < d.channels; c += 2 * kLanes) {
    int64_t p = 0;
    for (; p + 4 <= d.pixels; p += 4) PixelBlock<4, 2>(d, p, c);
    for (; p < d.pixels; ++p) PixelBlock<1, 2>(d, p, c);
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
