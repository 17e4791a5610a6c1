// kernels/attention/rotary.cpp - which rotary kernel this process uses.
#include "kernels/attention/rotary.h"

namespace sardonyx::kernels {

static constexpr Variant<RotaryFn> kVariants[] = {SDX_VARIANTS(Rotary)};

std::span<const Variant<RotaryFn>> RotaryVariants() { return kVariants; }

RotaryFn* BestRotary() {
  static RotaryFn* const best = Best(kVariants);
  return best;
}

}  // namespace sardonyx::kernels
