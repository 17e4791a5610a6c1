// kernels/elementwise/quantize.cpp - the dispatch of the quantization loops.
#include "kernels/elementwise/quantize.h"

namespace sardonyx::kernels {

static constexpr Variant<QuantizeTableFn> kVariants[] = SDX_VARIANTS(QuantizeKernels);

std::span<const Variant<QuantizeTableFn>> QuantizeVariants() { return kVariants; }

const QuantizeTable& Quantization() {
  static const QuantizeTable best = Best(kVariants)();
  return best;
}

}  // namespace sardonyx::kernels
