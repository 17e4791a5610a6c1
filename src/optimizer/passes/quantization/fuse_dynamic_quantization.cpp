// optimizer/passes/quantization/fuse_dynamic_quantization.cpp - products of dynamically quantized tensors, as
// onnxruntime's quantizer spells them out, become com.microsoft.MatMulIntegerToFloat or DynamicQuantizeMatMul.
//
// DynamicQuantizeMatMul quantizes its input itself; it is used if nothing else reads what DynamicQuantizeLinear makes.
#include <algorithm>

#include "optimizer/passes/passes.h"

namespace sardonyx::optimizer {
namespace {

bool HasOneElement(const Type& type) {
  return type.has_rank && std::all_of(type.dims.begin(), type.dims.end(), [](const Dim& d) { return d == Dim(1); });
}
bool IsOneFloat(const Type& type) { return type.dtype == DType::kFloat && HasOneElement(type) && type.rank() <= 1; }

// A float for each column of `matrix`.
bool IsRow(const Type& type, const Type& matrix) {
  return type.dtype == DType::kFloat && type.has_rank && type.rank() == 1 && matrix.has_rank && matrix.rank() == 2 &&
         SameDim(type.dims[0], matrix.dims[1]);
}

bool AreScales(Match& m) {
  const Type &b = m.type("b"), &b_scale = m.type("b_scale");
  // Where both are one number, B's is the constant.
  const bool in_order = m.constant("b_scale") != nullptr || m.constant("a_scale") == nullptr;
  if (m.Has("a_scale") && (!in_order || !IsOneFloat(m.type("a_scale"))))
    return m.No("what it is multiplied by is not a product of one scale and a row of scales");
  if (!IsOneFloat(b_scale) && !IsRow(b_scale, b))
    return m.No("what it is multiplied by is not a product of one scale and a row of scales");
  if (m.Has("a_zero") && !HasOneElement(m.type("a_zero"))) return m.No("its first operand has several zero points");
  return !m.Has("bias") || (m.constant("bias") != nullptr && IsRow(m.type("bias"), b));
}

constexpr Rule kRules[] = {
    {.name = "quantized for this product",
     .match = "Add?(Mul(Cast(product; to=1), Mul(q[1], b_scale)), bias) "
              "where product = MatMulInteger(q:DynamicQuantizeLinear(x), b, q[2], ?b_zero)",
     .replace = "com.microsoft.DynamicQuantizeMatMul(x, b, b_scale, ?b_zero, ?bias)",
     .when = AreScales},
    {.name = "product",
     .match = "Add?(Mul(Cast(MatMulInteger(a, b, ?a_zero, ?b_zero); to=1), Mul(a_scale, b_scale)), bias)",
     .replace = "com.microsoft.MatMulIntegerToFloat(a, b, a_scale, b_scale, ?a_zero, ?b_zero, ?bias)",
     .when = AreScales},
};

}  // namespace

constinit const Pass kFuseDynamicQuantization = {
    .name = "fuse_dynamic_quantization", .level = Level::kExtended, .rules = kRules};

}  // namespace sardonyx::optimizer
