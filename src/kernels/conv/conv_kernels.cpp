// kernels/conv/conv_kernels.cpp - the set of loops of an ISA.
#include "kernels/conv/conv_kernels.h"

namespace sardonyx::kernels {

using KernelSetFn = const ConvKernels&();

const ConvKernels& ConvKernelsOf(Isa isa) {
  static constexpr Variant<KernelSetFn> kVariants[] = SDX_VARIANTS(ConvKernelSet);
  for (const Variant<KernelSetFn>& variant : kVariants)
    if (variant.isa == isa) return variant.run();
  return baseline::ConvKernelSet();
}

}  // namespace sardonyx::kernels
