// kernels/recurrent/cell_f32.cpp - the dispatched entry points of cell_f32.isa.cpp.
#include "kernels/recurrent/cell_f32.h"

namespace sardonyx::kernels {
namespace {

struct Row {
  Isa isa;
  CellF32Set set;
};
#define SDX_ROW(name) {Isa::name, {name::LstmCell, name::GruGates, name::GruState}},
constexpr Row kRows[] = {SDX_FOR_EACH_ISA(SDX_ROW)};
#undef SDX_ROW

}  // namespace

const CellF32Set& CellF32(Isa isa) {
  for (const Row& row : kRows) {
    if (row.isa == isa) return row.set;
  }
  return std::end(kRows)[-1].set;
}

const CellF32Set& CellF32() {
  static const CellF32Set& best = [&]() -> const CellF32Set& {
    for (const Row& row : kRows) {
      if (Supported(row.isa)) return row.set;
    }
    return std::end(kRows)[-1].set;
  }();
  return best;
}

}  // namespace sardonyx::kernels
