// kernels/copy/pick.cpp - the dispatch of the loops that pick elements by indices.
#include "kernels/copy/pick.h"

namespace sardonyx::kernels {

static constexpr Variant<FindPickFn> kVariants[] = {SDX_VARIANTS(FindPick)};

std::span<const Variant<FindPickFn>> PickVariants() { return kVariants; }

PickLoops Pick(std::size_t bytes) {
  static FindPickFn* const best = Best(kVariants);
  return best(bytes);
}

}  // namespace sardonyx::kernels
