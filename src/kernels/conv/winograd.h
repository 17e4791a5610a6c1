// kernels/conv/winograd.h - 3x3 convolutions of stride 1 by Winograd F(2x2, 3x3) and F(4x4, 3x3).
//
// A tile of M x M outputs takes (M + 2)^2 multiplications per pair of channels instead of 9 M^2, and as many times more
// weights. Error per output: (C + 24) * 2^-24 * A * sum over channels of (max |x| of the tile's inputs) * (max |w|),
// with A = 64 for F(2, 3) and 564 for F(4, 3); usual data has up to 1.5 (F(2, 3)) and 4 times (F(4, 3)) the error of
// the direct sum. Tested in winograd_test.cpp. An infinity or NaN among the inputs of a tile reaches all of its
// outputs.
#pragma once

#include <cstddef>

#include "kernels/conv/conv.h"

namespace sardonyx::kernels {

// True if the shape may be computed so, as far as it does not depend on sizes of images; these are of two dimensions.
bool WinogradFits(const ConvShape& shape);

// Packed: [panels of nr output channels][positions of a tile][in_channels][nr].
std::size_t WinogradPackedCount(const ConvShape& shape, const TileF32Set& tiles);
void PackWinograd(const ConvShape& shape, const float* w, float* packed, Parallel& parallel, const TileF32Set& tiles);
std::size_t WinogradScratchBytes(const ConvShape& shape, int threads, const TileF32Set& tiles);
void Winograd(const ConvF32Args& args, const TileF32Set& tiles, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
