// runtime/saving/own_functions.h - says in ONNX's operators what those of ai.sardonyx compute.
#pragma once

#include "ir/graph.h"

namespace sardonyx::runtime {

// Gives the model a function for each form in which it has an operator of ai.sardonyx: runtimes without the operators
// compute the functions. A node calls its form's by the overload; this library runs the operator all the same
// (ir/function_index.h). Nodes whose form no function expresses keep none: products that move batch axes, and those of
// inputs of unknown rank.
void AddOwnFunctions(Model& model);

// The oldest opset of ONNX's domain in which the functions can be written.
inline constexpr std::int64_t kOwnFunctionsOpset = 13;

}  // namespace sardonyx::runtime
