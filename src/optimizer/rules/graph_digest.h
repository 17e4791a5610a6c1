// optimizer/rules/graph_digest.h - a hash of what a graph computes, to see whether a pass changed it.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace sardonyx::optimizer {

// Covers the nodes in their order with operators, attributes, inputs and outputs, constants (up to 4,096 bytes of
// each), and bodies. Types, names and unused values do not count.
std::uint64_t Digest(const Graph& graph);

}  // namespace sardonyx::optimizer
