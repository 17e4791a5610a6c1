// planner/scalar_inputs.h - inputs declared as scalars that are given in another shape, as ONNX Runtime allows.
#pragma once

#include "ir/graph.h"

namespace sardonyx::planner {

bool IsScalar(const Type& type);  // a tensor of rank 0

// Takes the declared shape from the graph's scalar inputs and, for it may rest on theirs, from every value computed
// from them, also in bodies. Before inference.
void ForgetScalarShapes(Graph& graph);

}  // namespace sardonyx::planner
