// kernels/ceiling/ceiling.cpp - the dispatched entry points of ceiling.isa.cpp.
#include "kernels/ceiling/ceiling.h"

namespace sardonyx::kernels {
namespace {

struct Row {
  Isa isa;
  CeilingSet set;
};
#define SDX_ROW(name) {Isa::name, {name::MultiplyAdds, name::MultiplyAddsPerRound, name::Stream, name::Read}},
constexpr Row kRows[] = {SDX_FOR_EACH_ISA(SDX_ROW)};
#undef SDX_ROW

}  // namespace

const CeilingSet& Ceiling(Isa isa) {
  for (const Row& row : kRows)
    if (row.isa == isa) return row.set;
  return kRows[std::size(kRows) - 1].set;
}

const CeilingSet& Ceiling() {
  for (const Row& row : kRows)
    if (Supported(row.isa)) return row.set;
  return kRows[std::size(kRows) - 1].set;
}

}  // namespace sardonyx::kernels
