// kernels/nbits/nbits_tile.cpp - chooses the kernels for packed weights for this process.
#include "kernels/nbits/nbits_tile.h"

namespace sardonyx::kernels {

// clang-format off
static constexpr Variant<const NBitsSet&()> kVariants[] = {
    SDX_X86_VARIANT(avx512, NBitsSetWithBytes, avx512_vnni)
    SDX_VARIANTS(NBitsSetOfIsa)
};
// clang-format on

const NBitsSet& NBitsOf(Isa isa) { return Best(kVariants, isa)(); }

}  // namespace sardonyx::kernels
