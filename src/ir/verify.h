// ir/verify.h - checks the structural invariants of a graph; called after loading and, in debug builds, after every
// pass.
#pragma once

#include "ir/graph.h"

namespace sardonyx {

// Checks that names are unique, inputs are defined before use, every value has at most one producer, consumers and
// captures are consistent, there is no cycle, and outputs are produced; the same for subgraphs. Fails with
// kInvalidGraph naming node and value.
void Verify(const Graph& graph);

}  // namespace sardonyx
