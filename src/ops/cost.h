// ops/cost.h - what a node costs by its definition: arithmetic and bytes, for profiles.
//
// A multiplication and an addition count as two operations, as everywhere. A kernel may need less of them than the
// definition (Winograd's convolutions), so a share of the machine's ceiling may exceed 1.
#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"
#include "ops/kernel_context.h"

namespace sardonyx::ops {

struct Cost {
  std::optional<double> operations;  // nothing where the definition gives no number (trees, control flow)
  double bytes = 0;                  // read and written once
};

// `op` may be null (another provider's operator). Of the tensors only types and shapes are read; those that are not
// there have the type kUndefined.
Cost CostOf(const Node& node, const OpDef* op, std::span<const TensorRef> inputs, std::span<const TensorRef> outputs);

}  // namespace sardonyx::ops
