// optimizer/fusion/half_caches.h - Attention in float between caches of 16-bit floats reads and writes these.
#pragma once

#include "optimizer/rules/pass.h"

namespace sardonyx::optimizer {

// Makes CachedAttention of an Attention node whose pasts are Casts from float16 or bfloat16 and of whose presents
// nothing but Casts to the same type is read.
bool TakeHalfCaches(Graph& graph, const PassContext& context, NodeId attention);

}  // namespace sardonyx::optimizer
