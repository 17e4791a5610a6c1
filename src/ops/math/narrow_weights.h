// ops/math/narrow_weights.h - finds constant weights that 16 bits hold as exactly as 32.
//
// Models of float16 compute in float (optimizer widen_half), and many models of float are exports of checkpoints in
// bfloat16 or float16. Products read such weights in 16 bits and widen them in registers: the same numbers, half the
// memory and, where a product has few rows, half the time.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/parallel.h"

namespace sardonyx::ops {

// kBFloat16 or kFloat16 if all of x[0, count) are numbers of that type, bit for bit; else kFloat. Weights of less than
// 128 KiB stay float, and those of float16 on a CPU that does not convert them in hardware.
DType ExactType(const float* x, std::int64_t count, Parallel& parallel);

// Whether the CPU converts float16 in hardware.
bool ConvertsFloat16();

}  // namespace sardonyx::ops
