// optimizer/rules/unused_constants.h - frees the memory of constants that a rewrite left without readers.
#pragma once

#include "ir/graph.h"

namespace sardonyx::optimizer {

// Takes the contents of `value` out of the graph if it is a constant that nothing reads and that is not an output;
// pages of a mapped file are released. A value that is an input of the graph, or of an enclosing one, stays.
void DropIfUnused(Graph& graph, ValueId value);

// The same for all values of the graph and of the bodies in it.
void DropUnusedConstants(Graph& graph);

}  // namespace sardonyx::optimizer
