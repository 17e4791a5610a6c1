// ir/compact.cpp - moves the nodes and values that are in use into a new graph.
#include "ir/compact.h"

#include <utility>
#include <vector>

namespace sardonyx {
namespace {

// What lives gets its new id; the rest stays kNoValue or kNoNode.
struct NewIds {
  std::vector<ValueId> values;
  std::vector<NodeId> nodes;

  void Apply(std::vector<ValueId>& list) const {
    for (ValueId& id : list)
      if (id != kNoValue) id = values[id];
  }
};

NewIds Number(const Graph& graph) {
  std::vector<bool> lives(graph.values.size(), false);
  const auto mark = [&](ValueId id) {
    if (id != kNoValue) lives[id] = true;
  };
  for (const ValueId id : graph.inputs) mark(id);
  for (const ValueId id : graph.outputs) mark(id);
  for (const Capture& capture : graph.captures) mark(capture.inner);
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    for (const auto* list : {&node.inputs, &node.outputs, &node.implicit_inputs})
      for (const ValueId value : *list) mark(value);
    for (const Graph* body : node.Subgraphs())
      for (const Capture& capture : body->captures) mark(capture.outer);
  }
  NewIds ids{std::vector<ValueId>(graph.values.size(), kNoValue), std::vector<NodeId>(graph.nodes.size(), kNoNode)};
  ValueId next = 0;
  for (std::size_t id = 0; id < lives.size(); ++id)
    if (lives[id]) ids.values[id] = next++;
  NodeId next_node = 0;
  for (const NodeId id : graph.order) ids.nodes[id] = next_node++;
  return ids;
}

void MoveValues(Graph& from, const NewIds& ids, Graph& to) {
  for (std::size_t id = 0; id < from.values.size(); ++id) {
    if (ids.values[id] == kNoValue) continue;
    ValueInfo& value = from.values[id];
    to.AddValue(value.name);
    to.values.back() = std::move(value);
    ValueInfo& moved = to.values.back();
    if (moved.producer != kNoNode) moved.producer = ids.nodes[moved.producer];
    std::vector<NodeId> consumers;
    for (const NodeId consumer : moved.consumers) consumers.push_back(ids.nodes[consumer]);
    moved.consumers = std::move(consumers);
  }
}

void MoveNodes(Graph& from, const NewIds& ids, Graph& to) {
  for (const NodeId old : from.order) {
    const auto id = static_cast<NodeId>(to.nodes.size());
    Node& node = to.nodes.emplace_back(std::move(from.node(old)));
    node.id = id;
    node.order_hint = id;
    for (auto* list : {&node.inputs, &node.outputs, &node.implicit_inputs}) ids.Apply(*list);
    for (Graph* body : node.Subgraphs()) {
      *body = Compacted(std::move(*body));
      for (Capture& capture : body->captures)
        if (capture.outer != kNoValue) capture.outer = ids.values[capture.outer];
    }
    to.order.push_back(id);
  }
}

}  // namespace

Graph Compacted(Graph graph) {
  const NewIds ids = Number(graph);
  Graph compact;
  compact.name = std::move(graph.name);
  compact.doc = std::move(graph.doc);
  compact.opset_imports = std::move(graph.opset_imports);
  compact.metadata = std::move(graph.metadata);
  MoveValues(graph, ids, compact);
  MoveNodes(graph, ids, compact);
  compact.inputs = std::move(graph.inputs);
  compact.outputs = std::move(graph.outputs);
  compact.captures = std::move(graph.captures);
  ids.Apply(compact.inputs);
  ids.Apply(compact.outputs);
  for (Capture& capture : compact.captures) capture.inner = ids.values[capture.inner];
  return compact;
}

}  // namespace sardonyx
