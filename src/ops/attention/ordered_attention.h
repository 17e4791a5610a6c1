// ops/attention/ordered_attention.h - com.microsoft QOrderedAttention, whose row is in projected_attention.cpp.
#pragma once

#include "ops/op_def.h"

namespace sardonyx::ops {

InferFn InferOrderedAttention;
PrepareFn PrepareOrderedAttention;

}  // namespace sardonyx::ops
