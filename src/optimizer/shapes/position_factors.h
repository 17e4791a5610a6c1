// optimizer/shapes/position_factors.h - recognizes integers that count the places at which they stand.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace sardonyx::optimizer {

// One factor for each axis: the element at [p0, p1, ...] is f0 p0 + f1 p1 + ... Axes of size 1 have the factor 0.
// Nothing if the graph does not tell. Nodes must be in their newest spelling.
std::optional<std::vector<Dim>> PositionFactors(const Graph& graph, ValueId value);

// Whether element `from` of a constant and every `step`-th behind it are those of a tensor of this shape with these
// factors: a constant may hold several counts side by side.
bool FollowsFactors(const Tensor& constant, std::int64_t from, std::int64_t step, Dims shape,
                    const std::vector<std::int64_t>& factors);

}  // namespace sardonyx::optimizer
