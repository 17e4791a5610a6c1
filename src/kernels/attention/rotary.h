// kernels/attention/rotary.h - rotary embedding: rotates the elements of one head by the angles of its position.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// Pairs (x[i], x[half + i]), or (x[2 i], x[2 i + 1]) if `interleaved`, times (cos[i] + i sin[i]), i < half; the
// elements from 2 * half to `size` are copied. y may be x.
using RotaryFn = void(const float* x, const float* cos, const float* sin, std::int64_t half, std::int64_t size,
                      bool interleaved, float* y);

#define SDX_DECLARE(isa) \
  namespace isa {        \
  RotaryFn Rotary;       \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// The best of this CPU.
RotaryFn* BestRotary();
std::span<const Variant<RotaryFn>> RotaryVariants();

}  // namespace sardonyx::kernels
