// planner/constant_nodes.h - constants that are nodes become initializers.
#pragma once

#include "ir/graph.h"
#include "ops/registry.h"

namespace sardonyx::planner {

// Replaces every Constant of the graph, bodies included, by an initializer of the same name: providers are shown
// constants as initializers alone, and ONNX Runtime's format has no others.
void MakeConstantsInitializers(Graph& graph, const ops::Registry& registry);

}  // namespace sardonyx::planner
