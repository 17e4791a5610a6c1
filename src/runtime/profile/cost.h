// runtime/profile/cost.h - what a node costs by its definition: arithmetic and bytes, for profiles.
#pragma once

#include <span>

#include "ir/graph.h"
#include "ops/cost_context.h"

namespace sardonyx::runtime {

// `op` and `prepared` may be null (another provider's operator). Reads only the types and shapes of tensors; missing
// tensors have the type kUndefined.
ops::Cost CostOf(const Node& node, const ops::OpDef* op, const ops::Prepared* prepared,
                 std::span<const ops::TensorRef> inputs, std::span<const ops::TensorRef> outputs);

}  // namespace sardonyx::runtime
