// testing/evaluate_op.cpp - builds a graph of one node and evaluates it.
#include "testing/evaluate_op.h"

#include "ops/evaluate.h"

namespace sardonyx::testing {

std::vector<Value> EvaluateOp(OpCall call) {
  Graph graph;
  Node node;
  node.name = "tested";
  node.domain = call.domain;
  node.op_type = call.op;
  node.since_version = call.version;
  node.attributes = std::move(call.attributes);
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Value& value = call.inputs[i];
    if (!value.has_value()) {
      node.inputs.push_back(kNoValue);
      continue;
    }
    const Type type = value.is_tensor() ? Type::TensorOf(value.tensor().dtype(), value.tensor().shape()) : Type{};
    node.inputs.push_back(graph.AddInput("x" + std::to_string(i), type));
  }
  for (std::size_t i = 0; i < call.outputs; ++i) node.outputs.push_back(graph.AddValue("y" + std::to_string(i)));
  const NodeId id = graph.AddNode(std::move(node));
  const ops::Registry registry;
  return ops::EvaluateNode(graph, graph.node(id), registry, call.inputs);
}

std::string ErrorOfOp(OpCall call) {
  try {
    EvaluateOp(std::move(call));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace sardonyx::testing
