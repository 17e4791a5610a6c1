// kernels/region/overlap.cpp - the dispatched entry point of overlap.isa.cpp.
#include "kernels/region/overlap.h"

namespace sardonyx::kernels {

static constexpr Variant<FindOverlapFn> kVariants[] = SDX_VARIANTS(FindOverlap);

FindOverlapFn* FindOverlapFunction() {
  static FindOverlapFn* const best = Best(kVariants);
  return best;
}

FindOverlapFn* FindOverlapFunction(Isa isa) {
  for (const auto& variant : kVariants)
    if (variant.isa == isa) return variant.run;
  return nullptr;
}

}  // namespace sardonyx::kernels
