// capi/handles/shown_order.cpp - walks over a graph from its last nodes to the first.
#include "capi/handles/shown_order.h"

#include <algorithm>

namespace sardonyx::capi {
namespace {

// The nodes that make what `node` and its bodies read, by their numbers.
std::vector<NodeId> ReadFrom(const Graph& graph, const Node& node) {
  std::vector<NodeId> makers;
  for (const std::vector<ValueId>* list : {&node.inputs, &node.implicit_inputs})
    for (const ValueId id : *list)
      if (id != kNoValue && graph.value(id).producer != kNoNode) makers.push_back(graph.value(id).producer);
  std::sort(makers.begin(), makers.end());
  return makers;
}

bool IsRead(const Graph& graph, const Node& node) {
  return std::any_of(node.outputs.begin(), node.outputs.end(),
                     [&](ValueId id) { return id != kNoValue && !graph.value(id).consumers.empty(); });
}

}  // namespace

std::vector<NodeId> ShownOrder(const Graph& graph) {
  struct Visit {
    NodeId node;
    bool leaves;  // all that it reads from has been placed
  };
  std::vector<NodeId> ends;
  for (const NodeId id : graph.order)
    if (!IsRead(graph, graph.node(id))) ends.push_back(id);
  std::sort(ends.begin(), ends.end());
  std::vector<Visit> open;
  for (const NodeId id : ends) open.push_back({id, false});
  std::vector<bool> seen(graph.nodes.size());
  std::vector<NodeId> order;
  while (!open.empty()) {
    const Visit visit = open.back();
    open.pop_back();
    if (visit.leaves) {
      order.push_back(visit.node);
      continue;
    }
    if (seen[visit.node]) continue;
    seen[visit.node] = true;
    open.push_back({visit.node, true});
    for (const NodeId maker : ReadFrom(graph, graph.node(visit.node)))
      if (!seen[maker]) open.push_back({maker, false});
  }
  return order;
}

}  // namespace sardonyx::capi
