// planner/constant_nodes.cpp - evaluates Constant nodes.
#include "planner/constant_nodes.h"

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "ops/evaluate.h"

namespace sardonyx::planner {
namespace {

// The attribute 'value' is the tensor itself, which may be large: it is shared, not copied.
Tensor TensorOf(const Graph& graph, const Node& node, const ops::Registry& registry) {
  const AttributeValue* value = node.FindAttribute("value");
  const Tensor* tensor = value != nullptr ? std::get_if<Tensor>(value) : nullptr;
  return tensor != nullptr ? *tensor : ops::EvaluateNode(graph, node, registry, {}).at(0).tensor();
}

}  // namespace

void MakeConstantsInitializers(Graph& graph, const ops::Registry& registry) {
  std::vector<NodeId> constants;
  for (const NodeId id : graph.order) {
    Node& node = graph.node(id);
    for (Graph* body : node.Subgraphs()) MakeConstantsInitializers(*body, registry);
    if (node.domain.empty() && node.op_type == "Constant") constants.push_back(id);
  }
  std::vector<std::pair<ValueId, std::shared_ptr<Initializer>>> made;
  for (const NodeId id : constants) {
    auto initializer = std::make_shared<Initializer>();
    initializer->tensor = TensorOf(graph, graph.node(id), registry);
    const ValueId output = graph.node(id).outputs[0];
    ValueInfo& value = graph.value(output);
    if (value.type.is_none()) value.type = Type::TensorOf(initializer->tensor.dtype(), initializer->tensor.shape());
    made.emplace_back(output, std::move(initializer));
  }
  graph.EraseNodes(constants);
  for (auto& [output, initializer] : made) graph.SetInitializer(output, std::move(initializer));
}

}  // namespace sardonyx::planner
