// kernels/conv/depthwise.h - convolutions in which each output channel sees one input channel.
#pragma once

#include <cstddef>

#include "kernels/conv/implicit_gemm.h"

namespace sardonyx::kernels {

// Channels first: in_channels == groups, any multiplier; weights [out_channels][taps], x and y [N, C, ...].
std::size_t DepthwisePlanesScratchBytes(const ConvShape& shape, int threads);
void DepthwisePlanes(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch);

// Channels last: in_channels == out_channels == groups; weights [taps][C], x and y [N, ..., C].
void DepthwisePixels(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel);

}  // namespace sardonyx::kernels
