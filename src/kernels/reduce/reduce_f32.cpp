// kernels/reduce/reduce_f32.cpp - the dispatched entry points of reduce_f32.isa.cpp.
#include "kernels/reduce/reduce_f32.h"

#include <limits>

namespace sardonyx::kernels {
namespace {

struct Row {
  Isa isa;
  ReduceF32Set set;
};
#define SDX_ROW(name) \
  {Isa::name, {name::ReduceRow, name::ReduceShortRows, name::ReduceColumns, name::SumExp, name::SumSquaredDeviations}},
constexpr Row kRows[] = {SDX_FOR_EACH_ISA(SDX_ROW)};
#undef SDX_ROW

}  // namespace

const ReduceF32Set& ReduceF32(Isa isa) {
  for (const Row& row : kRows) {
    if (row.isa == isa) return row.set;
  }
  return std::end(kRows)[-1].set;
}

const ReduceF32Set& ReduceF32() {
  static const ReduceF32Set& best = [&]() -> const ReduceF32Set& {
    for (const Row& row : kRows) {
      if (Supported(row.isa)) return row.set;
    }
    return std::end(kRows)[-1].set;
  }();
  return best;
}

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
