// ops/quantized_operators.h - what several families know of 8-bit operators: how their kernels read a scale and a zero
// point, and the functions of com.microsoft's, whose rows are in the families of their float operators or, for the
// elementwise ones, in quantize.cpp.
#pragma once

#include <cmath>
#include <cstdint>

#include "ops/kernel_context.h"
#include "ops/op_def.h"

namespace sardonyx::ops {

// Scale and zero point of a whole tensor.
struct QuantizedScale {
  float scale = 1, zero = 0;
};

// From inputs `scale` (float) and `zero` (int8 or uint8, 0 if it is missing), one element each.
inline QuantizedScale ReadScale(KernelContext& c, std::size_t scale, std::size_t zero) {
  if (c.Input(scale).dtype != DType::kFloat)
    Fail(Code::kInvalidArgument, "input ", scale, ": expected a scale of type float, found ",
         Name(c.Input(scale).dtype));
  if (c.Input(scale).count != 1)
    Fail(Code::kInvalidArgument, "input ", scale, ": expected one scale, found shape ", ToText(c.Input(scale).shape));
  QuantizedScale read{*c.Input(scale).As<float>(), 0};
  if (!c.HasInput(zero)) return read;
  const TensorRef& point = c.Input(zero);
  if (point.dtype != DType::kInt8 && point.dtype != DType::kUInt8)
    Fail(Code::kInvalidArgument, "input ", zero, ": expected a zero point of type int8 or uint8, found ",
         Name(point.dtype));
  if (point.count != 1)
    Fail(Code::kInvalidArgument, "input ", zero, ": expected one zero point, found shape ", ToText(point.shape));
  read.zero = point.dtype == DType::kInt8 ? static_cast<float>(*point.As<std::int8_t>())
                                          : static_cast<float>(*point.As<std::uint8_t>());
  return read;
}

// What the zero points make of QLinearAdd's result, with the quotients of the operands' scales and the result's. In
// ONNX Runtime's order: a is the operand that is added last.
inline float SumConstant(const QuantizedScale& a, const QuantizedScale& b, float y_zero) {
  return y_zero - std::fma(a.scale, a.zero, b.scale * b.zero);
}

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
