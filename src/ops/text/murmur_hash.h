// ops/text/murmur_hash.h - com.microsoft.MurmurHash3, which converters write for feature hashing; its row is in
// text.cpp.
#pragma once

#include "ops/infer_context.h"
#include "ops/prepare_context.h"

namespace sardonyx::ops {

void InferMurmurHash(InferContext& c);
Prepared PrepareMurmurHash(PrepareContext& c);

}  // namespace sardonyx::ops
