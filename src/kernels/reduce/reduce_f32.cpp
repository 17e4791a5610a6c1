// kernels/reduce/reduce_f32.cpp - the dispatched entry points of reduce_f32.isa.cpp.
#include "kernels/reduce/reduce_f32.h"

#include <limits>

namespace sardonyx::kernels {
namespace {

#define SDX_ROW(isa) \
  {Isa::isa, {isa::ReduceRow, isa::ReduceShortRows, isa::ReduceColumns, isa::SumExp, isa::SumSquaredDeviations}},
constexpr Variant<ReduceF32Set> kRows[] = {SDX_FOR_EACH_ISA(SDX_ROW)};
#undef SDX_ROW

}  // namespace

const ReduceF32Set& ReduceF32(Isa isa) { return Best(kRows, isa); }

float ReduceIdentity(ReduceKind kind) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (kind) {
    case ReduceKind::kProd:
      return 1;
    case ReduceKind::kMax:
      return -kInfinity;
    case ReduceKind::kMin:
      return kInfinity;
    default:
      return 0;
  }
}

}  // namespace sardonyx::kernels
