// ir/equal.h - whether two models, graphs or constants are the same in every respect.
#pragma once

#include "ir/graph.h"

namespace sardonyx {

// Whether the models agree in everything: ids, names, types, attributes, documentation, contents of tensors. Contents
// in different buffers with other owners (mapped files) count as different without being read.
bool Same(const Model& a, const Model& b);
bool Same(const Graph& a, const Graph& b);
bool Same(const Initializer& a, const Initializer& b);
bool SameAttributes(const Node& a, const Node& b);

}  // namespace sardonyx
