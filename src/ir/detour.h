// ir/detour.h - finds a path that leaves a group of nodes and comes back to it.
#pragma once

#include <optional>
#include <set>

#include "ir/graph.h"

namespace sardonyx {

// The first node outside, and the node of the group where the path comes back.
struct Detour {
  NodeId left_at, entered_at;
};

// Such a path would make a node that stands for the group wait for itself; nullopt: there is none.
std::optional<Detour> FindDetour(const Graph& graph, const std::set<NodeId>& group);

}  // namespace sardonyx
