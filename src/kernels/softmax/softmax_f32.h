// kernels/softmax/softmax_f32.h - softmax and log-softmax of f32 rows, and of columns (an axis that is not the last).
//
// y = e^(x - max) / sum, or x - max - log(sum). Relative error of softmax 1e-6 + 2^-24 |log y|; log-softmax 2e-6 *
// max(1, |y|), tested in ops/math/softmax_test.cpp. x and y may be the same memory.
#pragma once

#include <cstdint>

#include "base/parallel.h"
#include "kernels/dispatch.h"

namespace sardonyx::kernels {

using SoftmaxRowFn = void(const float* x, std::int64_t n, bool log, float* y);
// Columns [0, columns) of x [n, columns] with rows `stride` apart; y likewise.
using SoftmaxColumnsFn = void(const float* x, std::int64_t n, std::int64_t stride, std::int64_t columns, bool log,
                              float* y);

#define SDX_DECLARE(isa)           \
  namespace isa {                  \
  SoftmaxRowFn SoftmaxRow;         \
  SoftmaxColumnsFn SoftmaxColumns; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

std::span<const Variant<SoftmaxRowFn>> SoftmaxRowVariants();
std::span<const Variant<SoftmaxColumnsFn>> SoftmaxColumnsVariants();

// x [outer, n, inner] along the middle axis.
void SoftmaxF32(const float* x, std::int64_t outer, std::int64_t n, std::int64_t inner, bool log, float* y,
                Parallel& parallel);

}  // namespace sardonyx::kernels
