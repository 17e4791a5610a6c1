// ops/shapes/flex_attention.h - what FlexAttention's inference and the pass that replaces it both need.
#pragma once

#include "ops/node_view.h"

namespace sardonyx::ops {

// The element type of the scores, of Softmax and of both graphs: softmax_precision or, without it, double for inputs of
// double, else float. Fails with kInvalidGraph for a softmax_precision that is no floating type.
DType FlexAttentionPrecision(const AttributeReader& node, DType input);

}  // namespace sardonyx::ops
