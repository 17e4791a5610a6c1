// kernels/reduce/reduce_any.cpp - the dispatch of the reductions of doubles and integers.
#include "kernels/reduce/reduce_any.h"

namespace sardonyx::kernels {

static constexpr Variant<ReduceAnyFn> kVariants[] = {SDX_VARIANTS(ReduceAnyKernels)};

std::span<const Variant<ReduceAnyFn>> ReduceAnyVariants() { return kVariants; }

const ReduceAnySet& ReduceAny() {
  static const ReduceAnySet best = Best(kVariants)();
  return best;
}

}  // namespace sardonyx::kernels
