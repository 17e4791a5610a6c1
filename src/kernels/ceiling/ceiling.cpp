// kernels/ceiling/ceiling.cpp - the dispatched entry points of ceiling.isa.cpp.
#include "kernels/ceiling/ceiling.h"

namespace sardonyx::kernels {
namespace {

#define SDX_ROW(isa) {Isa::isa, {isa::MultiplyAdds, isa::MultiplyAddsPerRound, isa::Stream, isa::Read}},
constexpr Variant<CeilingSet> kRows[] = {SDX_FOR_EACH_ISA(SDX_ROW)};
#undef SDX_ROW

}  // namespace

const CeilingSet& Ceiling(Isa isa) { return Best(kRows, isa); }

}  // namespace sardonyx::kernels
