// planner/scalar_inputs.cpp - finds everything that may depend on the declared shapes of scalar inputs.
#include "planner/scalar_inputs.h"

#include <algorithm>
#include <vector>

namespace sardonyx::planner {
namespace {

Type WithoutShape(const Type& type) {
  Type result = type;
  result.has_rank = false;
  result.dims.clear();
  if (type.element != nullptr) result.element = std::make_shared<const Type>(WithoutShape(*type.element));
  return result;
}

void ForgetFrom(Graph& graph, std::vector<bool> from) {
  const auto depends = [&](ValueId id) { return id != kNoValue && from[id]; };
  for (const NodeId id : graph.order) {
    Node& node = graph.node(id);
    if (std::none_of(node.inputs.begin(), node.inputs.end(), depends) &&
        std::none_of(node.implicit_inputs.begin(), node.implicit_inputs.end(), depends))
      continue;
    for (const ValueId output : node.outputs)
      if (output != kNoValue) from[output] = true;
    // What a body's inputs and captures are, its node knows.
    for (Graph* body : node.Subgraphs()) {
      std::vector<bool> all(body->values.size(), false);
      for (const ValueId input : body->inputs) all[input] = body->value(input).constant() == nullptr;
      for (const Capture& capture : body->captures) all[capture.inner] = true;
      ForgetFrom(*body, std::move(all));
    }
  }
  for (std::size_t id = 0; id < graph.values.size(); ++id)
    if (from[id]) graph.values[id].type = WithoutShape(graph.values[id].type);
}

}  // namespace

bool IsScalar(const Type& type) { return type.is_tensor() && type.has_rank && type.rank() == 0; }

void ForgetScalarShapes(Graph& graph) {
  std::vector<bool> scalars(graph.values.size(), false);
  for (const ValueId id : graph.inputs)
    scalars[id] = graph.value(id).constant() == nullptr && IsScalar(graph.value(id).type);
  ForgetFrom(graph, std::move(scalars));
}

}  // namespace sardonyx::planner
