// kernels/tree/forest.cpp - the dispatched entry points of forest.isa.cpp.
#include "kernels/tree/forest.h"

namespace sardonyx::kernels {
namespace {

struct Row {
  Isa isa;
  ForestKernels set;
};
#define SDX_ROW(name) {Isa::name, {name::ForestKeys, name::ForestSlots, name::ForestAddValues, name::ForestAddRows}},
constexpr Row kRows[] = {SDX_FOR_EACH_ISA(SDX_ROW)};
#undef SDX_ROW

}  // namespace

const ForestKernels& ForestOf(Isa isa) {
  for (const Row& row : kRows) {
    if (row.isa == isa) return row.set;
  }
  return std::end(kRows)[-1].set;
}

const ForestKernels& BestForest() {
  static const ForestKernels& best = [&]() -> const ForestKernels& {
    for (const Row& row : kRows) {
      if (Supported(row.isa)) return row.set;
    }
    return std::end(kRows)[-1].set;
  }();
  return best;
}

}  // namespace sardonyx::kernels
