// kernels/attention/attention_rows.cpp - which row kernels of attention this process uses.
#include "kernels/attention/attention_rows.h"

namespace sardonyx::kernels {

using AttentionRowsFn = const AttentionRowsSet&();

const AttentionRowsSet& AttentionRows(Isa isa) {
  static constexpr Variant<AttentionRowsFn> kVariants[] = SDX_VARIANTS(AttentionRowsOfIsa);
  for (const Variant<AttentionRowsFn>& variant : kVariants)
    if (variant.isa == isa) return variant.run();
  return baseline::AttentionRowsOfIsa();
}

const AttentionRowsSet& BestAttentionRows() {
  for (const Isa isa : {Isa::avx512, Isa::avx2})
    if (Supported(isa)) return AttentionRows(isa);
  return AttentionRows(Isa::baseline);
}

}  // namespace sardonyx::kernels
