// kernels/pool/pool_f32.h - f32 max and average pooling of planes, one axis after the other.
//
// The rows of a window are combined first (vectors along the width), then its columns: kD * kH + kW steps per output
// instead of kD * kH * kW. Errors of averages: (kD * kH + kW) * 2^-24 relative to the sum of |x|, tested in
// ops/nn/conv_test.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/dispatch.h"
#include "kernels/pool/pool_shape.h"

namespace sardonyx::kernels {

// One output row: the pointers of the input rows that take part, and the buffer for their combination.
struct PoolRow {
  const float* const* rows = nullptr;
  std::int64_t row_count = 0;
  std::int64_t width = 0, out_width = 0, kernel = 1, stride = 1, dilation = 1, pad = 0;
  std::int64_t buffer_size = 0;     // floats of `buffer`, its last vector included
  const float* divisors = nullptr;  // [out_width] averages: taps along the width
  float row_divisor = 1;            // averages: taps of the other axes
  float* buffer = nullptr;
  float* y = nullptr;
};
using PoolRowFn = void(const PoolRow& row);

#define SDX_DECLARE(isa)    \
  namespace isa {           \
  PoolRowFn MaxPoolRow;     \
  PoolRowFn AveragePoolRow; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

std::size_t PoolF32ScratchBytes(const PoolShape& shape, std::int64_t planes);
// x [planes, in...], y [planes, out...]. scratch: PoolF32ScratchBytes, 64-byte aligned.
void PoolF32(const PoolShape& shape, std::int64_t planes, const float* x, float* y, Parallel& parallel,
             std::byte* scratch, Isa isa = BestIsa());

}  // namespace sardonyx::kernels
