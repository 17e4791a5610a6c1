// ops/input_type.h - the type an operator sees for each input.
#pragma once

#include <cstddef>

#include "ir/graph.h"

namespace sardonyx::ops {

// The type that a node sees for input `i` if it gets a value of `type`: that of the element if `type` is an optional
// and the input does not take optionals. ONNX Runtime unwraps optionals there, and exporters rely on it.
const Type& TypeAsInput(const Node& node, std::size_t i, const Type& type);  // infer.cpp

}  // namespace sardonyx::ops
