// kernels/copy/transpose.cpp - the dispatch of the transposes.
#include "kernels/copy/transpose.h"

namespace sardonyx::kernels {

static constexpr Variant<TransposeTableFn> kVariants[] = {SDX_VARIANTS(TransposeKernels)};

std::span<const Variant<TransposeTableFn>> TransposeVariants() { return kVariants; }

const TransposeTable& BestTransposes() {
  static const TransposeTable best = Best(kVariants)();
  return best;
}

}  // namespace sardonyx::kernels
