// ops/ml/distance.h - com.microsoft.CDist, which converters of nearest neighbours and kernels write; its row is in
// ml_features.cpp.
#pragma once

#include "ops/op_def.h"

namespace sardonyx::ops {

InferFn InferDistance;
PrepareFn PrepareDistance;

}  // namespace sardonyx::ops
