// kernels/nbits/nbits_tile.cpp - which kernels for packed weights this process uses.
#include "kernels/nbits/nbits_tile.h"

namespace sardonyx::kernels {

using NBitsSetFn = const NBitsSet&();

const NBitsSet& NBitsOf(Isa isa) {
  static constexpr Variant<NBitsSetFn> kVariants[] = SDX_VARIANTS(NBitsSetOfIsa);
  for (const Variant<NBitsSetFn>& variant : kVariants)
    if (variant.isa == isa) return variant.run();
  return baseline::NBitsSetOfIsa();
}

const NBitsSet& BestNBits() {
  for (const Isa isa : {Isa::avx512, Isa::avx2})
    if (Supported(isa)) return NBitsOf(isa);
  return NBitsOf(Isa::baseline);
}

}  // namespace sardonyx::kernels
