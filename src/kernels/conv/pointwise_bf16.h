// kernels/conv/pointwise_bf16.h - 1x1 convolutions of channels-last images in bf16 (ConvShape::rounds_to_bf16).
#pragma once

#include <cstddef>

#include "base/parallel.h"
#include "kernels/conv/conv.h"
#include "kernels/gemm/tile_f32.h"

namespace sardonyx::kernels {

// w: [out_channels, in_channels]; packed: GemmHalfPackedCount(in_channels, out_channels) numbers of 16 bits.
void PackPointwiseBf16(const ConvShape& shape, const float* w, float* packed, Parallel& parallel,
                       const TileF32Set& tiles);
std::size_t PointwiseBf16ScratchBytes(const ConvShape& shape, int threads, const TileF32Set& tiles);
void PointwiseBf16(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
