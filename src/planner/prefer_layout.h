// planner/prefer_layout.h - moves nodes to channels-last images for a provider that prefers these.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ops/registry.h"
#include "providers/provider.h"

namespace sardonyx::planner {

// Those of `nodes` that have a form in com.ms.internal.nhwc get it unless `provider` does not want it, and elementwise
// nodes between them follow; images are transposed where they enter and leave. Nodes of old opsets that would mean
// something else today stay. Returns true if anything changed.
bool MoveToChannelsLast(Graph& graph, const ops::Registry& registry, const std::vector<NodeId>& nodes,
                        const providers::Provider& provider);

}  // namespace sardonyx::planner
