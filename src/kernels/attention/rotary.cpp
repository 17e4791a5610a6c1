// kernels/attention/rotary.cpp - chooses the rotary kernel for this process.
#include "kernels/attention/rotary.h"

namespace sardonyx::kernels {

static constexpr Variant<RotaryFn> kVariants[] = {SDX_VARIANTS(Rotary)};

std::span<const Variant<RotaryFn>> RotaryVariants() { return kVariants; }

RotaryFn* BestRotary() {
  static RotaryFn* const best = Best(kVariants);
  return best;
}

}  // namespace sardonyx::kernels
