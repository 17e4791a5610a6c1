// ops/ml/distance.h - com.microsoft.CDist, which converters write for nearest neighbours and kernel methods; its row is
// in features.cpp.
#pragma once

#include "ops/op_def.h"

namespace sardonyx::ops {

InferFn InferDistance;
PrepareFn PrepareDistance;

}  // namespace sardonyx::ops
