// kernels/conv/expanded_depthwise.h - a 1x1 convolution and the depthwise one that reads it, without the image between.
//
// Networks for phones widen an image by a 1x1 kernel, filter each channel and narrow it again. The wide image is their
// largest: written and read again it takes longer than its multiplications. Here a thread computes some rows of some
// of its channels, which stay in its cache, and filters them at once (as "depth-first" or "fused-layer" execution:
// Alwani et al., Fused-Layer CNN Accelerators, 2016).
#pragma once

#include <cstddef>

#include "kernels/conv/conv.h"

namespace sardonyx::kernels {

struct ExpandedDepthwiseArgs {
  // Of the depthwise convolution: channels last, one image row at least in each window, in_channels = out_channels =
  // groups, in[0] = kernel[0] = 1; in_pixel is that of x.
  ConvShape shape;
  std::int64_t x_channels = 1;
  const float* x = nullptr;       // [N, H, W, x_channels]
  const float* packed = nullptr;  // 64-byte aligned, from PackExpandedDepthwise
  float* y = nullptr;             // overlaps neither x nor packed
  Epilogue wide;                  // of the 1x1 convolution: no residual
  Epilogue epilogue;              // of the depthwise one
  const TileF32Set* tiles = nullptr;
};

// Floats of both packed weights; they depend on channels and kernel sizes (and the ISA).
std::size_t ExpandedDepthwisePackedCount(const ConvShape& shape, std::int64_t x_channels,
                                         const TileF32Set* tiles = nullptr);

// wide: [channels, x_channels]; w: [channels, kH, kW].
void PackExpandedDepthwise(const ConvShape& shape, std::int64_t x_channels, const float* wide, const float* w,
                           float* packed, Parallel& parallel, const TileF32Set* tiles = nullptr);

// Bytes of scratch with up to `threads` threads.
std::size_t ExpandedDepthwiseScratchBytes(const ExpandedDepthwiseArgs& args, int threads);

// y = epilogue(depthwise(wide(x))), for any number of threads the bits of ConvF32 twice (which sums differently for up
// to 8 pixels). scratch: ExpandedDepthwiseScratchBytes(args, parallel.ThreadCount()) bytes, 64-byte aligned.
void ExpandedDepthwise(const ExpandedDepthwiseArgs& args, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
