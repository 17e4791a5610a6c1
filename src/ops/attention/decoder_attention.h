// ops/attention/decoder_attention.h - com.microsoft DecoderAttention, whose row is in projected_attention.cpp.
#pragma once

#include "ops/op_def.h"

namespace sardonyx::ops {

InferFn InferDecoderAttention;
PrepareFn PrepareDecoderAttention;

}  // namespace sardonyx::ops
