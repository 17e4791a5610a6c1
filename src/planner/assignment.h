// planner/assignment.h - records which provider runs which nodes of a model.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "providers/provider.h"

namespace sardonyx::planner {

// The parts of a partitioned graph (planner/partition.h), bodies included: one for each compiled group, one for each
// other node. To be called before Upgrade: then the CPU's nodes are still those that the author wrote.
std::vector<providers::AssignedPart> AssignmentOf(const Graph& graph, const providers::ProviderSet& set);

}  // namespace sardonyx::planner
