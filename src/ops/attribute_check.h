// ops/attribute_check.h - checks that a node has only attributes that its operator's schema knows.
#pragma once

#include "ops/schema/schema.h"

namespace sardonyx::ops {

// Fails with kInvalidGraph, naming node, operator and attribute, for an attribute that the schema does not have (and
// the closest that it has), one of another type, and a required one that is missing. No name is exempt.
void CheckAttributes(const Graph& graph, const Node& node, const OpSchema& schema);

// Every node of the graph and its bodies against the schema of its version, or of the operator whose place it takes;
// what has neither is left alone. For graphs that the optimizer made.
void CheckAllAttributes(const Graph& graph);

}  // namespace sardonyx::ops
