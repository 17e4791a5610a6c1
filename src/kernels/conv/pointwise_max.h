// kernels/conv/pointwise_max.h - the maximum over positions of what a 1x1 convolution makes of them, without the image
// between.
//
// Networks of points widen each point by 1x1 kernels and keep the maximum of each channel: the widest image is written
// only to be read once. Here a thread computes some positions of a few channels, which stay in the first level of its
// cache, and takes their maximum at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/gemm/epilogue.h"

namespace sardonyx::kernels {

struct TileF32Set;  // kernels/gemm/tile_f32.h

// y[g, m] = max over p < positions of activation(sum over c of x[g, p, c] * w[m, c] + bias[m]); NaN if one of them is.
struct PointwiseMaxArgs {
  std::int64_t groups = 0;        // rows of y, may be 0
  std::int64_t positions = 0;     // of a group; 0: the maximum of nothing is -inf
  std::int64_t in_channels = 0;   // may be 0: the sums are 0
  std::int64_t out_channels = 0;  // may be 0
  std::int64_t x_pixel = 0;       // floats from a position to the next; groups follow each other
  const float* x = nullptr;       // [groups, positions, in_channels]
  const float* packed = nullptr;  // 64-byte aligned, from PackPointwiseMax
  float* y = nullptr;             // [groups, out_channels]; overlaps nothing
  const float* bias = nullptr;    // [out_channels] or null
  Activation activation;
  const TileF32Set* tiles = nullptr;  // null: the best of this CPU; tests name others
};

// Floats of packed weights; they depend on the channels (and the ISA). w: [out_channels, in_channels].
std::size_t PointwiseMaxPackedCount(std::int64_t in_channels, std::int64_t out_channels,
                                    const TileF32Set* tiles = nullptr);
void PackPointwiseMax(std::int64_t in_channels, std::int64_t out_channels, const float* w, float* packed,
                      Parallel& parallel, const TileF32Set* tiles = nullptr);

// Bytes of scratch with up to `threads` threads. The sizes were checked by the caller.
std::size_t PointwiseMaxScratchBytes(const PointwiseMaxArgs& args, int threads);

// The sums have the bits of ConvF32 (which sums differently for up to 8 positions). Of zeros of both signs, either may
// be the maximum. scratch: PointwiseMaxScratchBytes(args, parallel.ThreadCount()) bytes, 64-byte aligned, null if 0.
void PointwiseMax(const PointwiseMaxArgs& args, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
