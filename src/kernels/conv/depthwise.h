// kernels/conv/depthwise.h - convolutions in which each output channel reads one input channel.
#pragma once

#include <cstddef>

#include "kernels/conv/implicit_gemm.h"

namespace sardonyx::kernels {

// Channels first: in_channels == groups, any multiplier; weights [out_channels][taps], x and y [N, C, ...].
std::size_t DepthwisePlanesScratchBytes(const ConvShape& shape, int threads);
void DepthwisePlanes(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch);

// Channels last: in_channels == groups, any multiplier; weights [channel blocks][taps][lanes of the ISA], x and y
// [N, ..., C].
std::size_t DepthwisePixelsPackedCount(const ConvShape& shape, const TileF32Set& tiles);
void PackDepthwisePixels(const ConvShape& shape, const float* w, float* packed, const TileF32Set& tiles);
std::size_t DepthwisePixelsScratchBytes(const ConvShape& shape);
void DepthwisePixels(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
