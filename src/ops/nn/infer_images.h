// ops/nn/infer_images.h - the shapes of convolutions and pools, for operators that have other kernels or none.
#pragma once

#include "ops/op_def.h"

namespace sardonyx::ops {

InferFn InferConv, InferGlobalPool, InferPool;

}  // namespace sardonyx::ops
