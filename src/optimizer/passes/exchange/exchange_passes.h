// optimizer/passes/exchange/exchange_passes.h - declares the passes of exchange_order.inc that sessions do not run.
#pragma once

#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {

extern const Pass kFuseBiasAdd, kFuseBiasGelu, kFuseBiasSkipLayerNorm, kFuseBiasSplitGelu, kFuseGemmFastGelu,
    kFuseSkipLayerNormAlone, kGiveEmbeddingsMask, kSpellAttention, kSpellGelu, kSpellGroupNorm, kSpellGroupNormFirst, kSpellGroupNormSwish,
    kSpellGroupNormSwishFirst, kSpellNormalization;

}  // namespace sardonyx::optimizer
