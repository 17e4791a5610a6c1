// kernels/nbits/nbits.h - products with weights of 2, 4 or 8 bits in blocks along K that share a scale (MatMulNBits).
//
// y[m, n] = sum over k of a[m, k] * (q[n, k] - zero[n, block]) * scale[n, block] + bias[n]. Weights stay packed in
// memory and are unpacked in registers, so a product with few rows reads them once. Nothing allocates or throws; bits
// do not depend on the thread count. Error of f32 activations: K * 2^-23 * sum |a w|; int8 activations add the rounding
// of each block of a to 1/254 of its largest value. Tested in nbits_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"

namespace sardonyx::kernels {

struct NBitsSet;    // kernels/nbits/nbits_tile.h
struct TileF32Set;  // kernels/gemm/tile_f32.h

// A matrix of weights [N, K].
struct NBitsShape {
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t block = 32;   // a power of two, at least 16
  int bits = 4;              // 2, 4 or 8
  bool has_zeros = false;    // zero points other than 2^(bits - 1)
  bool half_scales = false;  // packed with scales of 16 bits: NBitsScalesFitHalf

  std::int64_t blocks() const { return (k + block - 1) / block; }
};

struct NBitsWeights {
  const std::uint8_t* q = nullptr;  // [n, blocks, block * bits / 8], low bits first
  const float* scales = nullptr;    // [n, blocks]
  const float* zeros = nullptr;     // [n, blocks]; only with has_zeros
};

// Whether float16 holds the scales, and what the zero points are above 2^(bits - 1), to the bit. Packed so, weights are
// a tenth shorter at 4 bits and blocks of 32; results are the same.
bool NBitsScalesFitHalf(const NBitsShape& shape, const NBitsWeights& weights, Parallel& parallel);

// Bytes of packed weights, and the packing; `packed` is 64-byte aligned.
std::size_t NBitsPackedBytes(const NBitsShape& shape, const NBitsSet* set = nullptr);
void PackNBits(const NBitsShape& shape, const NBitsWeights& weights, std::byte* packed, Parallel& parallel,
               const NBitsSet* set = nullptr);

struct NBitsArgs {
  NBitsShape shape;
  const std::byte* packed = nullptr;
  std::int64_t m = 0;
  const float* a = nullptr;  // [m, k], row stride lda
  std::int64_t lda = 0;
  float* y = nullptr;  // [m, n], row stride ldy
  std::int64_t ldy = 0;
  const float* bias = nullptr;    // [n] or null
  bool int8_activations = false;  // allowed: a may be rounded to 8 bits by block where the CPU gains by it
  bool same_rows = false;         // the bits of a row of y do not depend on m: slower for many rows of floats
  const NBitsSet* set = nullptr;  // null: the best of this CPU; tests name others
  const TileF32Set* tiles = nullptr;
};

// Enough for up to args.m rows.
std::size_t NBitsScratchBytes(const NBitsArgs& args, int threads);
// scratch: NBitsScratchBytes(args, parallel.ThreadCount()) bytes, 64-byte aligned.
void MultiplyNBits(const NBitsArgs& args, Parallel& parallel, std::byte* scratch);

}  // namespace sardonyx::kernels
