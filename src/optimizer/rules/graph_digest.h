// optimizer/rules/graph_digest.h - one number for what a graph computes, to see whether a pass changed it.
#pragma once

#include <cstdint>

#include "ir/graph.h"

namespace sardonyx::optimizer {

// Of nodes in their order with operators, attributes, inputs and outputs, of constants by where they lie, and of
// bodies. Types, names and what nobody reads do not count.
std::uint64_t Digest(const Graph& graph);

}  // namespace sardonyx::optimizer
