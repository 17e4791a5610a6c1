// kernels/attention/attention_rows.cpp - chooses the row kernels of attention for this process.
#include "kernels/attention/attention_rows.h"

namespace sardonyx::kernels {

static constexpr Variant<const AttentionRowsSet&()> kVariants[] = {SDX_VARIANTS(AttentionRowsOfIsa)};

const AttentionRowsSet& AttentionRows(Isa isa) { return Best(kVariants, isa)(); }

}  // namespace sardonyx::kernels
