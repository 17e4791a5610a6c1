// optimizer/passes/exchange/exchange_passes.h - declares the passes of exchange_order.inc that sessions do not run.
#pragma once

#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {

extern const Pass kConnectNhwcConv, kFuseBiasAdd, kFuseBiasGelu, kFuseBiasSkipLayerNorm, kFuseBiasSplitGelu,
    kFuseGemmFastGelu, kFuseSkipGroupNorm, kFuseSkipLayerNormAlone, kGiveEmbeddingsMask, kPackKeysAndValues,
    kPackProjections, kSpellAttention, kSpellGelu, kSpellGroupNorm, kSpellGroupNormFirst, kSpellGroupNormSwish,
    kSpellGroupNormSwishFirst, kSpellNhwcConv, kSpellNormalization;

}  // namespace sardonyx::optimizer
