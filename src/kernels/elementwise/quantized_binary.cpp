// kernels/elementwise/quantized_binary.cpp - the dispatch of the 8-bit elementwise loops.
#include "kernels/elementwise/quantized_binary.h"

namespace sardonyx::kernels {

// clang-format off
static constexpr Variant<QuantizedTableFn> kVariants[] = {
    SDX_X86_VARIANT(avx512, QuantizedKernels8WithByteTables, avx512_vbmi)
    SDX_VARIANTS(QuantizedKernels8)
};
// clang-format on

std::span<const Variant<QuantizedTableFn>> QuantizedVariants() { return kVariants; }

const QuantizedTable& Quantized8() {
  static const QuantizedTable best = Best(kVariants)();
  return best;
}

}  // namespace sardonyx::kernels
