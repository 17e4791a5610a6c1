// ir/verify.h - the structural facts every graph keeps; checked after loading and, in debug builds, after every pass.
#pragma once

#include "ir/graph.h"

namespace sardonyx {

// Fails with kInvalidGraph naming node and value: names unique, inputs defined before use, one producer, consumers and
// captures consistent, no cycle, outputs produced, subgraphs too.
void Verify(const Graph& graph);

}  // namespace sardonyx
