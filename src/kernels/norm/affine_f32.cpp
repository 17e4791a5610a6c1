// kernels/norm/affine_f32.cpp - the dispatched entry points of affine_f32.isa.cpp.
#include "kernels/norm/affine_f32.h"

namespace sardonyx::kernels {
namespace {

#define SDX_ROW(isa)                                                                            \
  {Isa::isa,                                                                                    \
   {isa::AffineScalar, isa::AffineColumns, isa::AffineRow, isa::AddRows, isa::LrnThreeQuarters, \
    isa::AffineScalarF64, isa::AffineColumnsF64}},
constexpr Variant<AffineF32Set> kRows[] = {SDX_FOR_EACH_ISA(SDX_ROW)};
#undef SDX_ROW

}  // namespace

const AffineF32Set& AffineF32(Isa isa) { return Best(kRows, isa); }

}  // namespace sardonyx::kernels
