// ops/nn/conv_reduce_max.h - the functions of ConvReduceMax, whose row stands beside ExpandedConv's.
#pragma once

#include "ops/op_def.h"

namespace sardonyx::ops {

void InferConvReduceMax(InferContext& c);
Prepared PrepareConvReduceMax(PrepareContext& c);
void CountConvReduceMax(CostContext& c);

}  // namespace sardonyx::ops
