// plugins/onednn/claim.h - which nodes of a graph the provider takes, and how they are grouped.
#pragma once

#include <vector>

#include "model.h"

namespace sardonyx_onednn {

// Groups of nodes (their indices), each connected, and with no path that leaves it and comes back. Without `small`, a
// group needs an operator that is worth the way to it.
std::vector<std::vector<int>> FindGroups(const Graph& graph, bool small);

}  // namespace sardonyx_onednn
