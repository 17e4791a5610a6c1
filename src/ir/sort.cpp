// ir/sort.cpp - the topological order of a graph.
#include <algorithm>
#include <functional>
#include <queue>

#include "base/error.h"
#include "ir/graph.h"

namespace sardonyx {
namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);
constexpr std::size_t kNamedNodes = 8;  // of a long cycle only the first ones are named

template <typename Visit>
void ForEachProducer(const Graph& graph, const Node& node, Visit&& visit) {
  for (const std::vector<ValueId>* list : {&node.inputs, &node.implicit_inputs}) {
    for (const ValueId input : *list) {
      if (input != kNoValue && graph.values[input].producer != kNoNode) visit(graph.values[input].producer);
    }
  }
}

// Every node in `waiting` (a count for each node, 0 if placed) has a producer that waits: walking up ends in a cycle.
[[noreturn]] void FailWithCycle(const Graph& graph, const std::vector<std::size_t>& waiting) {
  NodeId at = kNoNode;
  for (const NodeId id : graph.order) {
    if (waiting[id] != 0) at = id;
  }
  std::vector<std::size_t> step(graph.nodes.size(), kNone);
  std::vector<NodeId> path;
  while (step[at] == kNone) {
    step[at] = path.size();
    path.push_back(at);
    NodeId next = kNoNode;
    ForEachProducer(graph, graph.nodes[at], [&](NodeId producer) {
      if (waiting[producer] != 0) next = producer;
    });
    at = next;
  }
  std::string text;
  const std::size_t length = path.size() - step[at];
  for (std::size_t i = 0; i < std::min(length, kNamedNodes); ++i) {
    text += (i == 0 ? "" : " <- ") + Describe(graph, graph.nodes[path[step[at] + i]]);
  }
  Fail(Code::kFail, "expected a graph without cycles, found a cycle of ", length, " nodes: ", text);
}

bool IsSorted(const Graph& graph) {
  std::vector<bool> placed(graph.nodes.size(), false);
  for (const NodeId id : graph.order) {
    bool ready = true;
    ForEachProducer(graph, graph.nodes[id], [&](NodeId producer) { ready = ready && placed[producer]; });
    if (!ready) return false;
    placed[id] = true;
  }
  return true;
}

}  // namespace

void Graph::SortTopologically() {
  if (!IsSorted(*this)) {
    std::vector<std::size_t> place(nodes.size(), 0), waiting(nodes.size(), 0);
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>>
        ready;  // places: the smallest goes first
    for (std::size_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      ForEachProducer(*this, nodes[order[i]], [&](NodeId) { ++waiting[order[i]]; });
      if (waiting[order[i]] == 0) ready.push(i);
    }
    std::vector<NodeId> sorted;
    while (!ready.empty()) {
      const NodeId id = order[ready.top()];
      ready.pop();
      sorted.push_back(id);
      for (const ValueId output : nodes[id].outputs) {
        if (output == kNoValue) continue;
        for (const NodeId consumer : values[output].consumers) {
          if (--waiting[consumer] == 0) ready.push(place[consumer]);
        }
      }
    }
    if (sorted.size() != order.size()) FailWithCycle(*this, waiting);
    order = std::move(sorted);
  }
  for (std::size_t i = 0; i < order.size(); ++i) nodes[order[i]].order_hint = i;
}

}  // namespace sardonyx
