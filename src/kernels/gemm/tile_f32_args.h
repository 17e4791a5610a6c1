// kernels/gemm/tile_f32_args.h - what a tile of f32 sums reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace sardonyx::kernels {

inline constexpr std::ptrdiff_t kNoOffset = 0;

// Strides in floats. The rows are two runs: rows [0, G) start at a0, c0, residual0, rows [G, R) at a1, c1, residual1
// with G = (R + 1) / 2, so that a tile may cover parts of two image rows. One run: x1 = x0 + G * stride.
struct TileF32Args {
  const float* a0;
  const float* a1;
  std::ptrdiff_t a_row_stride;
  std::ptrdiff_t a_k_stride = 1;
  const std::ptrdiff_t* tap_offsets = &kNoOffset;  // [taps], added to a0 and a1
  std::int64_t taps = 1;
  std::int64_t k;
  const float* b;           // [taps * k][b_stride], nr (narrow tile: nr / 2) floats of each row are read
  std::ptrdiff_t b_stride;  // packed: nr
  float* c0;
  float* c1;
  std::ptrdiff_t c_row_stride;
  std::int64_t columns;  // how many of the columns exist: 1..nr; the others are not stored
  // y = min(max(alpha * sum + beta * residual + bias_scale * (bias_n[column] + bias_m[row] + bias), low), high)
  float alpha = 1;
  float beta = 1;
  float bias_scale = 1;
  float bias = 0;
  const float* residual0 = nullptr;
  const float* residual1 = nullptr;
  std::ptrdiff_t residual_row_stride = 0;
  const float* bias_n = nullptr;
  const float* bias_m = nullptr;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  // Every k step touches `prefetch` and moves it on by prefetch_step bytes. Nothing to fetch: any hot line, step 0.
  const char* prefetch;
  std::ptrdiff_t prefetch_step = 0;
};

}  // namespace sardonyx::kernels
