// ops/quantized/quantized_gemm.h - com.microsoft's 8-bit products: MatMulIntegerToFloat, DynamicQuantizeMatMul and
// QGemm. Their rows stand in quantized_matmul.cpp.
#pragma once

#include "ops/op_def.h"

namespace sardonyx::ops {

InferFn InferMatMulIntegerToFloat, InferDynamicQuantizeMatMul, InferQGemm;
PrepareFn PrepareMatMulIntegerToFloat, PrepareDynamicQuantizeMatMul, PrepareQGemm;

}  // namespace sardonyx::ops
