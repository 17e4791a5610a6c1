// ops/attention/attention_cost.h - what attention costs, for all operators that compute it.
#pragma once

#include "ops/cost_context.h"

namespace sardonyx::ops {

// Two products over all keys: queries by keys, then weights by values. Output 0 is the result.
double OperationsOverKeys(const CostContext& c, double keys);
// Inputs q, k, v; the keys of earlier steps are those that output 1 adds to k.
void CountAttention(CostContext& c);

}  // namespace sardonyx::ops
