// ops/quantized_operators.h - 8-bit operators of com.microsoft, whose rows are in the families of their float operators
// or, for the elementwise ones, in quantize.cpp.
#pragma once

#include "ops/op_def.h"

namespace sardonyx::ops {

inline constexpr DTypeSet kQuantized8 = {DType::kInt8, DType::kUInt8};

// quantized_elementwise.cpp
InferFn InferQLinearBinary;
PrepareFn PrepareQLinearAdd, PrepareQLinearMul;
PrepareFn PrepareQLinearSigmoid, PrepareQLinearLeakyRelu, PrepareQOrderedGelu;
InferFn InferLookup8;
PrepareFn PrepareLookup8;

// quantized_reduce.cpp
InferFn InferQLinearMean, InferQLinearGlobalMean;
PrepareFn PrepareQLinearMean, PrepareQLinearGlobalMean;
PrepareFn PrepareQLinearSoftmax;

// quantized_concat_where.cpp
InferFn InferQLinearConcat, InferQLinearWhere;
PrepareFn PrepareQLinearConcat, PrepareQLinearWhere;

// The first tensor of QLinearConcat among its inputs.
inline constexpr int kQLinearConcatFirst = 2;

}  // namespace sardonyx::ops
