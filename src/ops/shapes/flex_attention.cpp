// ops/shapes/flex_attention.cpp - the precision of FlexAttention's scores.
#include "ops/shapes/flex_attention.h"

#include "ops/op_def.h"

namespace sardonyx::ops {

DType FlexAttentionPrecision(const AttributeReader& node, DType input) {
  const DType dtype =
      node.DTypeAttribute("softmax_precision", input == DType::kDouble ? DType::kDouble : DType::kFloat);
  if (!kIeeeFloats.Has(dtype))
    node.Fail(Code::kInvalidGraph,
              "attribute 'softmax_precision': expected 1 (float), 10 (float16), 11 (double) or 16 ",
              "(bfloat16), found ", node.Int("softmax_precision"));
  return dtype;
}

}  // namespace sardonyx::ops
