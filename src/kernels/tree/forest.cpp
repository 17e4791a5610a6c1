// kernels/tree/forest.cpp - the dispatched entry points of forest.isa.cpp.
#include "kernels/tree/forest.h"

namespace sardonyx::kernels {
namespace {

#define SDX_ROW(isa) {Isa::isa, {isa::ForestKeys, isa::ForestSlots, isa::ForestAddValues, isa::ForestAddRows}},
constexpr Variant<ForestKernels> kRows[] = {SDX_FOR_EACH_ISA(SDX_ROW)};
#undef SDX_ROW

}  // namespace

const ForestKernels& ForestOf(Isa isa) { return Best(kRows, isa); }

}  // namespace sardonyx::kernels
