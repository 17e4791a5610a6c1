// kernels/region/overlap.cpp - the dispatched entry point of overlap.isa.cpp.
#include "kernels/region/overlap.h"

namespace sardonyx::kernels {

static constexpr Variant<FindOverlapFn> kVariants[] = {SDX_VARIANTS(FindOverlap)};

FindOverlapFn* FindOverlapFunction(Isa isa) { return Best(kVariants, isa); }

}  // namespace sardonyx::kernels
