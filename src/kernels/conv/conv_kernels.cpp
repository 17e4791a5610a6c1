// kernels/conv/conv_kernels.cpp - chooses the convolution loops of an ISA.
#include "kernels/conv/conv_kernels.h"

namespace sardonyx::kernels {

static constexpr Variant<const ConvKernels&()> kVariants[] = {SDX_VARIANTS(ConvKernelSet)};

const ConvKernels& ConvKernelsOf(Isa isa) { return Best(kVariants, isa)(); }

}  // namespace sardonyx::kernels
