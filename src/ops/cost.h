// ops/cost.h - what a node costs by its definition: arithmetic and bytes, for profiles.
//
// A multiplication and an addition count as two operations, as everywhere. A kernel may need fewer of them than the
// definition (Winograd's convolutions): `arithmetic` says so.
#pragma once

#include <optional>
#include <span>

#include "ir/graph.h"
#include "ops/kernel_context.h"
#include "ops/op_def.h"

namespace sardonyx::ops {

struct Cost {
  std::optional<double> operations;  // nothing where the definition gives no number (trees, control flow)
  double bytes = 0;                  // read and written once
  double written = 0;                // of them
  double weights = 0;                // of them: constants, which CostOf does not know
  DType computes = DType::kFloat;    // what is multiplied: kInt8 where the kernel multiplies integers of 8 bits
  double arithmetic = 1;             // the share of `operations` that the kernel does
};

// `op` and `prepared` may be null (another provider's operator). Of the tensors only types and shapes are read; those
// that are not there have the type kUndefined.
Cost CostOf(const Node& node, const OpDef* op, const Prepared* prepared, std::span<const TensorRef> inputs,
            std::span<const TensorRef> outputs);

}  // namespace sardonyx::ops
