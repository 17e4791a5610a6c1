// kernels/pool/pool_last_f32.h - f32 max and average pooling of channels-last images.
//
// Vectors run along the channels; a window is a list of pixels. Errors of averages: taps * 2^-24 relative to the sum of
// |x|, tested in pool_last_f32_test.cpp.
#pragma once

#include "base/parallel.h"
#include "kernels/dispatch.h"
#include "kernels/pool/pool_shape.h"

namespace sardonyx::kernels {

// y[i] = the maximum, or the sum divided by `divisor`, of taps[t][i] for t < tap_count (at least 1), i < channels. With
// `more`, y takes part, too; a divisor of 0 leaves the sum as it is.
struct PoolPixel {
  const float* const* taps = nullptr;
  std::int64_t tap_count = 0;
  std::int64_t channels = 0;
  bool more = false;
  float divisor = 0;
  float* y = nullptr;
};
using PoolPixelFn = void(const PoolPixel& pixel);

#define SDX_DECLARE(isa)        \
  namespace isa {               \
  PoolPixelFn MaxPoolPixel;     \
  PoolPixelFn AveragePoolPixel; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// x [batch, in..., channels], y [batch, out..., channels]. An empty window gives -inf or NaN.
void PoolLastF32(const PoolShape& shape, std::int64_t batch, std::int64_t channels, const float* x, float* y,
                 Parallel& parallel, Isa isa = BestIsa());

}  // namespace sardonyx::kernels
