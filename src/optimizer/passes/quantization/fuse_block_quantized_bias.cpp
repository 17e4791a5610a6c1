// optimizer/passes/quantization/fuse_block_quantized_bias.cpp - a constant that is added to each row of a com.microsoft
// MatMulNBits becomes its bias. Runs after the passes that need the sum themselves (attention, BiasGelu).
#include "optimizer/fusion/epilogue.h"
#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

// As [N], which is all that ONNX Runtime takes.
bool IsRow(Match& m) {
  const Tensor* bias = m.constant("bias");
  const Type& y = m.type("y");
  if (bias == nullptr || !IsBias(m.type("bias"), y))
    return m.No("expected a constant row for ", y.ToText(), ", found ", m.type("bias").ToText());
  if (bias->shape().rank() != 1) m.SetConstant("bias", bias->Reshaped(Shape{bias->count()}));
  return true;
}

constexpr Rule kRules[] = {
    {.name = "bias",
     .match = "Add(y:com.microsoft.MatMulNBits(a, b, scales, ?zeros, ?groups), bias)",
     .replace = "$y(a, b, scales, ?zeros, ?groups, bias)",
     .when = IsRow},
};

}  // namespace

constinit const Pass kFuseBlockQuantizedBias = {
    .name = "fuse_block_quantized_bias", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
