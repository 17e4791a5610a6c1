// ops/input_type.h - as what an operator sees its inputs.
#pragma once

#include <cstddef>

#include "ir/graph.h"

namespace sardonyx::ops {

// The type of input `i` of a node that gets a value of `type`: where only the element of an optional may stand, the
// element's. ONNX Runtime unwraps it, and exporters rely on that.
const Type& TypeAsInput(const Node& node, std::size_t i, const Type& type);  // infer.cpp

}  // namespace sardonyx::ops
