// kernels/reduce/sum8.cpp - the dispatch of the 8-bit sums.
#include "kernels/reduce/sum8.h"

namespace sardonyx::kernels {

static constexpr Variant<Sum8Fn> kVariants[] = {SDX_VARIANTS(Sum8)};

std::span<const Variant<Sum8Fn>> Sum8Variants() { return kVariants; }

Sum8Fn* Sum8Function() {
  static Sum8Fn* const best = Best(kVariants);
  return best;
}

}  // namespace sardonyx::kernels
