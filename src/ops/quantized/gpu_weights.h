// ops/quantized/gpu_weights.h - weights of MatMulNBits that a model has in the layout of a GPU's kernel.
//
// The attribute weight_prepacked says which: 1 for the layout of GPUs of compute capability 8.0, 2 for that of 9.0. The
// bytes are as many as in the plain layout, and the numbers are the same; only their places differ.
#pragma once

#include <cstdint>

#include "base/parallel.h"

namespace sardonyx::ops {

struct GpuWeights {
  std::int64_t n = 0, k = 0, block = 0;
  int bits = 4;
  std::int64_t layout = 0;  // the value of weight_prepacked
};

// Throws unless the attributes can go together.
void CheckGpuWeights(const GpuWeights& w);

// Writes [N, K] with `bits` a number, the first in the lowest bits of a byte. from and to: n * k * bits / 8 bytes.
void UnpackGpuWeights(const GpuWeights& w, const std::uint8_t* from, std::uint8_t* to, Parallel& parallel);

}  // namespace sardonyx::ops
