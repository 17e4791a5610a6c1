// kernels/reduce/columns.cpp - the dispatch of the column loops.
#include "kernels/reduce/columns.h"

namespace sardonyx::kernels {

static constexpr Variant<ColumnTableFn> kVariants[] = {SDX_VARIANTS(MakeColumnKernels)};

std::span<const Variant<ColumnTableFn>> ColumnVariants() { return kVariants; }

const ColumnTable& ColumnKernels() {
  static const ColumnTable best = Best(kVariants)();
  return best;
}

}  // namespace sardonyx::kernels
