// optimizer/shapes/unknown_sizes.h - gives names to unknown sizes, so that passes see which of them are equal.
#pragma once

#include "ir/graph.h"
#include "ops/registry.h"

namespace sardonyx::optimizer {

// Gives every unknown dimension of the graph's tensors a symbol of its own and infers anew, so that what follows from
// it has it, too: queries, keys and values that come from one value of unknown length fit together. Bodies are left
// out: their sizes may differ each time they run. Lasts until ForgetUnknownSizes takes the symbols away.
void NameUnknownSizes(Graph& graph, const ops::Registry& registry);
void ForgetUnknownSizes(Graph& graph);

}  // namespace sardonyx::optimizer
