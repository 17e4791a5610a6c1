// kernels/conv/grouped_pixels.h - convolutions of groups of few channels, channels last, without a border of zeros.
#pragma once

#include "kernels/conv/implicit_gemm.h"

namespace sardonyx::kernels {

// Shape: of merged groups, if any are. Weights: [groups][panels][taps][group_in][nr], as RunImplicitGemm wants them.
bool GroupedPixelsFits(const ConvShape& shape, const TileF32Set& tiles);
void GroupedPixels(const ConvF32Args& args, const ConvShape& shape, const TileF32Set& tiles, Parallel& parallel);

}  // namespace sardonyx::kernels
