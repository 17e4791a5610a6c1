// ir/node_error.h - adds to an error the node at which it happened, once.
#pragma once

#include <string>

#include "base/error.h"
#include "ir/graph.h"

namespace sardonyx {

// "[Op] node 'name' (Op): ", the beginning of error messages about `node`.
std::string ErrorPrefix(const Graph& graph, const Node& node);

// Whether the message names a node first.
bool NamesNode(const Error& error);

// `error` with `node` named in its message; unchanged if the message already names a node (one of a body, or the node
// itself).
Error AtNode(const Graph& graph, const Node& node, const Error& error);

}  // namespace sardonyx
