// runtime/inspect/body_path.h - how reports name the bodies of control flow: "loop.body",
// "loop.body/choice.then_branch".
#pragma once

#include <string>

#include "runtime/program.h"

namespace sardonyx::runtime {

// A node without a name is named by its operator and its place, as in ONNX Runtime's profiles.
inline std::string StepName(const Program& program, std::size_t step) {
  const Node& node = program.graph().node(program.steps()[step].node);
  return node.name.empty() ? node.op_type + "_" + std::to_string(step) : node.name;
}

// The path of body `body` of a step. `path` is that of the program that has the step, "" for the model's own program.
inline std::string BodyPath(const Program& program, const std::string& path, std::size_t step, std::size_t body) {
  return (path.empty() ? "" : path + "/") + StepName(program, step) + "." +
         program.kernels()[step].bodies[body]->graph().name;
}

}  // namespace sardonyx::runtime
