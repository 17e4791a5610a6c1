// ops/attention/paged_attention.h - com.microsoft PagedAttention, whose row is in packed_attention.cpp.
#pragma once

#include "ops/op_def.h"

namespace sardonyx::ops {

InferFn InferPagedAttention;
PrepareFn PreparePagedAttention;

}  // namespace sardonyx::ops
