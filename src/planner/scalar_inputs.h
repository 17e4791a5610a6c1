// planner/scalar_inputs.h - inputs declared as scalars that are given in another shape, as ONNX Runtime allows.
#pragma once

#include "ir/graph.h"

namespace sardonyx::planner {

bool IsScalar(const Type& type);  // a tensor of rank 0

// Removes the declared shapes of the graph's scalar inputs, and of every value computed from them, also in bodies:
// these shapes may depend on those of the inputs. To be called before inference.
void ForgetScalarShapes(Graph& graph);

}  // namespace sardonyx::planner
