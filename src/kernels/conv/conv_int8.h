// kernels/conv/conv_int8.h - 8-bit convolutions of 1, 2 and 3 spatial dimensions with exact 32-bit sums.
//
// sum = bias[m] + sum over the window of (x - x_zero) * (w - w_zero[m]), modulo 2^32, equal on every ISA; padding reads
// x_zero. gemm/int8_result.h says how y is made of the sums. Channels-last implicit GEMM on the integer tile, depthwise
// as its own loop; other layouts are converted on the way in and out. Nothing allocates or throws.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/conv/conv_int8_args.h"

namespace sardonyx::kernels {

// The best way for what is known when weights are packed: sizes of `in`, `out` and batch that are not known are 0. It
// computes any sizes of these channels, groups, kernels, strides, dilations and layouts, if the weights fit it.
ConvInt8Way ChooseConvInt8Way(const ConvShape& shape);
bool ConvInt8WeightsFit(const ConvShape& shape, const ConvInt8Weights& weights, ConvInt8Way way);

// The packed form depends on channels, groups, kernel, dilations, the way and the zero points of the weights, never on
// layouts, batch, image sizes, strides or pads.
std::size_t ConvInt8PackedBytes(const ConvShape& shape, const TileInt8Set* tiles = nullptr,
                                ConvInt8Way way = ConvInt8Way::kAnyWeights);
void PackConvInt8Weights(const ConvShape& shape, const ConvInt8Weights& weights, std::byte* packed, Parallel& parallel,
                         const TileInt8Set* tiles = nullptr, ConvInt8Way way = ConvInt8Way::kAnyWeights);

// True if a convolution of these channels, groups and layouts can add a value.
bool ConvInt8Adds(const ConvShape& shape);

// Of shape, x_signed, tiles and way alone, for at most so many threads.
std::size_t ConvInt8ScratchBytes(const ConvInt8Args& args, int threads);
// scratch: ConvInt8ScratchBytes(args, parallel's threads) bytes, 64-byte aligned.
void ConvInt8(const ConvInt8Args& args, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
