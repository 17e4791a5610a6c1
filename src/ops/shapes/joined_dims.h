// ops/shapes/joined_dims.h - the dimensions of tensors that are joined along an axis: Concat and its relatives.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "ops/infer_context.h"

namespace sardonyx::ops {

// Of the inputs with these indices, joined along attribute `axis`; none if no rank is known. Inputs that add nothing
// along the axis may have any other dimensions, as in ONNX Runtime: programs give an empty past like that. Fails with
// kInvalidArgument if others surely differ elsewhere.
std::optional<std::vector<Dim>> JoinedDims(InferContext& c, std::span<const std::size_t> inputs);

}  // namespace sardonyx::ops
