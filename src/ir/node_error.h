// ir/node_error.h - errors get the node that they happened at, once.
#pragma once

#include <string>

#include "base/error.h"
#include "ir/graph.h"

namespace sardonyx {

// "[Op] node 'name' (Op): ", what the messages of errors at `node` begin with.
std::string ErrorPrefix(const Graph& graph, const Node& node);

// `error` as one that names `node`; as it is if it names a node already (one of a body, or the node itself).
Error AtNode(const Graph& graph, const Node& node, const Error& error);

}  // namespace sardonyx
