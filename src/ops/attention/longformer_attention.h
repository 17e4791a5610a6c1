// ops/attention/longformer_attention.h - com.microsoft LongformerAttention and QOrderedLongformerAttention, for the
// table of ops/attention.
#pragma once

#include "ops/infer_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

void InferLongformer(InferContext& c);
Prepared PrepareLongformer(PrepareContext& c);
Prepared PrepareOrderedLongformer(PrepareContext& c);

}  // namespace sardonyx::ops
