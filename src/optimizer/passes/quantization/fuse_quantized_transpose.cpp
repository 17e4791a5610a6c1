// optimizer/passes/quantization/fuse_quantized_transpose.cpp - a Transpose of the last two axes of a QLinearMatMul's
// second operand becomes the attribute transB of ai.sardonyx QLinearMatMul: attention reads the keys of a cache, of
// which each row is the key of one position, as they lie.
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

bool IsByte(const Type& type) { return type.dtype == DType::kInt8 || type.dtype == DType::kUInt8; }

bool Turns(Match& m) {
  if (!IsByte(m.type("a")) || !IsByte(m.type("b")) || !IsByte(m.result()))
    return m.No("its operands are not of 8 bits");
  if (m.constant("b") != nullptr) return m.No("its second operand is constant");
  return SwapsLastAxes(m.graph(), m.node("t")) || m.No("the Transpose before it does not swap the last two axes alone");
}

constexpr Rule kRules[] = {
    {.name = "transposed",
     .match = "QLinearMatMul(a, a_scale, a_zero, t:Transpose(b), b_scale, b_zero, y_scale, y_zero)",
     .replace = "ai.sardonyx.QLinearMatMul(a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero; transB=1)",
     .when = Turns},
};

}  // namespace

constinit const Pass kFuseQuantizedTranspose = {
    .name = "fuse_quantized_transpose", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
