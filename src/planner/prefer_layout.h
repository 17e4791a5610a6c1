// planner/prefer_layout.h - images channels last for a provider that wants them so.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ops/registry.h"

namespace sardonyx::planner {

// Those of `nodes` that have a form in com.ms.internal.nhwc get it, and elementwise ones between them follow; what goes
// in and out is transposed. Nodes of old opsets that mean something else today stay. True if anything changed.
bool MoveToChannelsLast(Graph& graph, const ops::Registry& registry, const std::vector<NodeId>& nodes);

}  // namespace sardonyx::planner
