// tests/fuzz/wrapped_graph.h - a random graph with some nodes moved into a branch, a loop's body or a function.
#pragma once

#include <cstdint>

#include "fuzz/random_graph.h"

namespace sardonyx::fuzz {

// Computes what `graph` does. A row of its nodes, chosen by `seed`, is moved into an If, a Loop that runs once, or a
// function of the model; all read values of the graph around them.
RandomGraph Wrapped(const RandomGraph& graph, std::uint32_t seed);

}  // namespace sardonyx::fuzz
