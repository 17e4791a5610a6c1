// kernels/norm/affine_f32.cpp - the dispatched entry points of affine_f32.isa.cpp.
#include "kernels/norm/affine_f32.h"

namespace sardonyx::kernels {
namespace {

struct Row {
  Isa isa;
  AffineF32Set set;
};
#define SDX_ROW(name) \
  {Isa::name, {name::AffineScalar, name::AffineColumns, name::AffineRow, name::AddRows, name::LrnThreeQuarters}},
constexpr Row kRows[] = {SDX_FOR_EACH_ISA(SDX_ROW)};
#undef SDX_ROW

}  // namespace

const AffineF32Set& AffineF32(Isa isa) {
  for (const Row& row : kRows) {
    if (row.isa == isa) return row.set;
  }
  return std::end(kRows)[-1].set;
}

const AffineF32Set& AffineF32() {
  static const AffineF32Set& best = [&]() -> const AffineF32Set& {
    for (const Row& row : kRows) {
      if (Supported(row.isa)) return row.set;
    }
    return std::end(kRows)[-1].set;
  }();
  return best;
}

}  // namespace sardonyx::kernels
