// providers/connected_groups.h - forms groups of the nodes that a provider has accepted one by one.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace sardonyx::providers {

// Splits `accepted` (node ids of `graph`, in topological order) into groups that are connected by edges and as large as
// they can be, one after the other, without any path that leaves a group and comes back. Each group is in topological
// order. Source of the cycle test: contraction of an edge a -> b in an acyclic graph keeps it acyclic if and only if no
// other path leads from a to b.
std::vector<std::vector<NodeId>> ConnectedGroups(const Graph& graph, const std::vector<NodeId>& accepted);

}  // namespace sardonyx::providers
