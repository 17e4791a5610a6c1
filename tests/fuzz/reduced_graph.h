// tests/fuzz/reduced_graph.h - reduces a random graph to the part that still shows a fault.
#pragma once

#include <functional>

#include "fuzz/random_graph.h"

namespace sardonyx::fuzz {

// Leaves out outputs and nodes, whose results then become inputs, as long as `fails` says that the rest still fails.
RandomGraph Reduced(const RandomGraph& graph, const ops::Registry& registry,
                    const std::function<bool(const RandomGraph&)>& fails);

}  // namespace sardonyx::fuzz
