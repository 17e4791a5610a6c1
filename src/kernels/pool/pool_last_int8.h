// kernels/pool/pool_last_int8.h - max pooling of channels-last images of bytes.
#pragma once

#include "base/parallel.h"
#include "kernels/dispatch.h"
#include "kernels/pool/pool_shape.h"

namespace sardonyx::kernels {

// y[i] = the maximum of taps[t][i] for t < tap_count (at least 1), i < channels; with `more`, y takes part, too.
struct BytePoolPixel {
  const std::uint8_t* const* taps = nullptr;
  std::int64_t tap_count = 0;
  std::int64_t channels = 0;
  bool more = false;
  std::uint8_t* y = nullptr;
};
using BytePoolPixelFn = void(const BytePoolPixel& pixel);

#define SDX_DECLARE(isa)                          \
  namespace isa {                                 \
  BytePoolPixelFn MaxPoolPixelU8, MaxPoolPixelS8; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// x [batch, in..., channels], y [batch, out..., channels], u8 or s8. An empty window gives the least value.
void MaxPoolLastInt8(const PoolShape& shape, std::int64_t batch, std::int64_t channels, bool is_signed, const void* x,
                     void* y, Parallel& parallel, Isa isa = BestIsa());

}  // namespace sardonyx::kernels
