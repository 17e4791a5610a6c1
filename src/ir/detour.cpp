// ir/detour.cpp - follows the values that leave a group of nodes.
#include "ir/detour.h"

#include <map>

namespace sardonyx {

std::optional<Detour> FindDetour(const Graph& graph, const std::set<NodeId>& group) {
  std::map<NodeId, NodeId> left_at;  // nodes outside that depend on the group: the first one of the path
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const bool inside = group.count(id) != 0;
    for (const std::vector<ValueId>* list : {&node.inputs, &node.implicit_inputs}) {
      for (const ValueId input : *list) {
        const NodeId producer = input == kNoValue ? kNoNode : graph.value(input).producer;
        if (producer == kNoNode) continue;
        const auto left = left_at.find(producer);
        if (inside && left != left_at.end()) return Detour{left->second, id};
        if (inside || left_at.count(id) != 0) continue;
        if (group.count(producer) != 0) left_at[id] = id;
        if (left != left_at.end()) left_at[id] = left->second;
      }
    }
  }
  return std::nullopt;
}

}  // namespace sardonyx
