// optimizer/rules/half_weights.h - large weights of float16 in a graph that computes in float.
//
// Some kernels read such weights as they are, and widen what they need of them: matrix products in registers
// (ops/math/narrow_weights.h), tables of embeddings row by row. Until the graph is complete, the weight is a constant of
// float16 with a Cast behind it, which is never computed: as floats the weights of a whole model would take twice the
// memory of the file, all at once.
#pragma once

#include <string_view>

#include "ir/graph.h"
#include "ops/registry.h"

namespace sardonyx::optimizer {

// Whether `node` is a Cast of such a constant to float, and all that read it take float16 in its place.
bool WidensWeights(const Graph& graph, const Node& node, const ops::Registry& registry);

// Takes these Casts away, in bodies, too, where neither they nor their readers are another provider's than `cpu`. What
// is left are nodes with inputs of two types, which no file may say: to be called when the graph is complete.
void ReadHalfWeights(Graph& graph, const ops::Registry& registry, std::string_view cpu);

}  // namespace sardonyx::optimizer
