// ir/compact.h - a graph without the holes that passes left.
#pragma once

#include "ir/graph.h"

namespace sardonyx {

// The same graph with new ids: erased nodes and values that nothing refers to any more are gone, bodies included; names
// and the order of nodes and of values stay. A value is kept if it is an input, an output, captured, or used or made by
// a node.
Graph Compacted(Graph graph);

}  // namespace sardonyx
