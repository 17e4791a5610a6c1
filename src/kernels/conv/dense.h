// kernels/conv/dense.h - convolutions of any kernel as an implicit GEMM: every output channel of a group reads every
// input channel of the group.
#pragma once

#include <cstddef>

#include "kernels/conv/conv.h"

namespace sardonyx::kernels {

// Packed: [merged groups][panels of nr output channels][taps][in_channels of the group][nr].
std::size_t DensePackedCount(const ConvShape& shape, const TileF32Set& tiles);
void PackDense(const ConvShape& shape, const float* w, float* packed, Parallel& parallel, const TileF32Set& tiles);

// Of shapes without a trivial width: a column is a row, and what 1x1 kernels read in order is one row.
std::size_t DenseScratchBytes(const ConvShape& shape, int threads, const TileF32Set& tiles);
void Dense(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
