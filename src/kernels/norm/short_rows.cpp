// kernels/norm/short_rows.cpp - the choice of the ISA.
#include "kernels/norm/short_rows.h"

namespace sardonyx::kernels {
namespace {

constexpr Variant<ShortRowsFn<float>> kFloatVariants[] = {SDX_VARIANTS(DivideShortRowsF32)};
constexpr Variant<ShortRowsFn<double>> kDoubleVariants[] = {SDX_VARIANTS(DivideShortRowsF64)};

}  // namespace

std::int64_t DivideShortRows(const ShortRows<float>& rows, Isa isa) { return Best(kFloatVariants, isa)(rows); }
std::int64_t DivideShortRows(const ShortRows<double>& rows, Isa isa) { return Best(kDoubleVariants, isa)(rows); }

}  // namespace sardonyx::kernels
