// providers/connected_groups.cpp - contracts edges between accepted nodes while the graph stays acyclic.
#include "providers/connected_groups.h"

#include <algorithm>
#include <set>

namespace sardonyx::providers {
namespace {

// Every node of the graph begins as a cluster of its own; clusters of accepted nodes merge.
class Clusters {
 public:
  explicit Clusters(const Graph& graph) : parent_(graph.nodes.size()), first_(parent_.size()), last_(parent_.size()) {
    before_.resize(parent_.size());
    for (std::size_t at = 0; at < graph.order.size(); ++at) {
      const NodeId id = graph.order[at];
      first_[id] = last_[id] = at;
      const Node& node = graph.node(id);
      for (const std::vector<ValueId>* list : {&node.inputs, &node.implicit_inputs}) {
        for (const ValueId input : *list)
          if (input != kNoValue && graph.value(input).producer != kNoNode)
            before_[id].insert(graph.value(input).producer);
      }
    }
    for (NodeId id = 0; id < parent_.size(); ++id) parent_[id] = id;
  }

  NodeId Of(NodeId id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }

  std::vector<NodeId> Before(NodeId cluster) {
    std::set<NodeId> found;
    for (const NodeId id : before_[cluster])
      if (Of(id) != cluster) found.insert(Of(id));
    return {found.begin(), found.end()};
  }

  // Whether a path of at least two edges leads from cluster `from` to cluster `to`.
  bool LeadsAround(NodeId from, NodeId to) {
    std::vector<NodeId> open;
    std::set<NodeId> seen;
    for (const NodeId id : Before(to))
      if (id != from && seen.insert(id).second) open.push_back(id);
    while (!open.empty()) {
      const NodeId id = open.back();
      open.pop_back();
      if (last_[id] < first_[from]) continue;  // everything before it lies before `from`, too
      for (const NodeId next : Before(id)) {
        if (next == from) return true;
        if (next != to && seen.insert(next).second) open.push_back(next);
      }
    }
    return false;
  }

  void Merge(NodeId a, NodeId b) {
    parent_[b] = a;
    first_[a] = std::min(first_[a], first_[b]);
    last_[a] = std::max(last_[a], last_[b]);
    before_[a].merge(before_[b]);
  }

 private:
  std::vector<NodeId> parent_;
  std::vector<std::size_t> first_, last_;  // places in the order of a cluster's first and last node
  std::vector<std::set<NodeId>> before_;   // nodes whose outputs a cluster reads
};

}  // namespace

std::vector<std::vector<NodeId>> ConnectedGroups(const Graph& graph, const std::vector<NodeId>& accepted) {
  Clusters clusters(graph);
  std::vector<bool> is_accepted(graph.nodes.size(), false);
  for (const NodeId id : accepted) is_accepted[id] = true;
  for (const NodeId id : accepted) {
    for (const NodeId producer : clusters.Before(clusters.Of(id))) {
      const NodeId a = clusters.Of(producer), b = clusters.Of(id);
      if (a == b || !is_accepted[producer] || clusters.LeadsAround(a, b) || clusters.LeadsAround(b, a)) continue;
      clusters.Merge(a, b);
    }
  }
  std::vector<std::vector<NodeId>> groups;
  std::vector<int> group_of(graph.nodes.size(), -1);
  for (const NodeId id : accepted) {
    int& group = group_of[clusters.Of(id)];
    if (group < 0) {
      group = static_cast<int>(groups.size());
      groups.emplace_back();
    }
    groups[group].push_back(id);
  }
  return groups;
}

}  // namespace sardonyx::providers
