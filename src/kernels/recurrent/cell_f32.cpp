// kernels/recurrent/cell_f32.cpp - the dispatched entry points of cell_f32.isa.cpp.
#include "kernels/recurrent/cell_f32.h"

namespace sardonyx::kernels {
namespace {

#define SDX_ROW(isa) {Isa::isa, {isa::LstmCell, isa::GruCell, isa::GruGates, isa::GruState}},
constexpr Variant<CellF32Set> kRows[] = {SDX_FOR_EACH_ISA(SDX_ROW)};
#undef SDX_ROW

}  // namespace

const CellF32Set& CellF32(Isa isa) { return Best(kRows, isa); }

}  // namespace sardonyx::kernels
