// ir/compact.h - removes the holes that passes leave in a graph.
#pragma once

#include "ir/graph.h"

namespace sardonyx {

// The same graph with new ids, without erased nodes and without values that nothing refers to any more, in bodies too.
// Names and the order of nodes and values stay. A value is kept if it is an input, an output, captured, or used or made
// by a node.
Graph Compacted(Graph graph);

}  // namespace sardonyx
