// plugins/onednn/claim.cpp - which nodes of a graph the provider takes, and how they are grouped.
#include "claim.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "operators.h"

namespace sardonyx_onednn {
namespace {

std::vector<bool> TakenNodes(const Graph& graph) {
  std::vector<bool> taken;
  for (const Node& node : graph.nodes) taken.push_back(Refusal(graph, node).empty());
  // Integers are taken only for an operator beside them: alone, the host rounds them as well and sooner.
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (!taken[i] || node.op_type != "DequantizeLinear") continue;
    const std::vector<int>& readers = graph.consumers[static_cast<std::size_t>(node.outputs[0])];
    taken[i] = std::any_of(readers.begin(), readers.end(), [&](int reader) {
      return taken[static_cast<std::size_t>(reader)] &&
             graph.nodes[static_cast<std::size_t>(reader)].op_type != "QuantizeLinear";
    });
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!taken[i] || graph.nodes[i].op_type != "QuantizeLinear") continue;
    const int maker = graph.producer[static_cast<std::size_t>(graph.nodes[i].inputs[0])];
    taken[i] = maker >= 0 && taken[static_cast<std::size_t>(maker)];
  }
  return taken;
}

}  // namespace

// A node's level rises by one wherever a path enters or leaves what is taken, so the taken nodes of one level have no
// path among them that leads through others. The connected ones of a level are a group.
std::vector<std::vector<int>> FindGroups(const Graph& graph, bool small) {
  const std::vector<bool> taken = TakenNodes(graph);
  const std::size_t count = graph.nodes.size();
  std::vector<int> level(count, 0), group(count);
  std::iota(group.begin(), group.end(), 0);
  const auto root = [&](int index) {
    while (group[static_cast<std::size_t>(index)] != index) index = group[static_cast<std::size_t>(index)];
    return index;
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (const int value : graph.nodes[i].inputs) {
      const int maker = value < 0 ? -1 : graph.producer[static_cast<std::size_t>(value)];
      if (maker < 0) continue;
      const auto from = static_cast<std::size_t>(maker);
      level[i] = std::max(level[i], level[from] + (taken[from] == taken[i] ? 0 : 1));
    }
    if (!taken[i]) continue;
    for (const int value : graph.nodes[i].inputs) {
      const int maker = value < 0 ? -1 : graph.producer[static_cast<std::size_t>(value)];
      if (maker >= 0 && taken[static_cast<std::size_t>(maker)] && level[static_cast<std::size_t>(maker)] == level[i])
        group[static_cast<std::size_t>(root(maker))] = root(static_cast<int>(i));
    }
  }
  std::map<int, std::vector<int>> groups;
  for (std::size_t i = 0; i < count; ++i)
    if (taken[i]) groups[root(static_cast<int>(i))].push_back(static_cast<int>(i));
  std::vector<std::vector<int>> found;
  for (auto& [first, nodes] : groups) {
    const bool pays = std::any_of(nodes.begin(), nodes.end(), [&](int index) {
      return FindOperator(graph.nodes[static_cast<std::size_t>(index)])->is_heavy;
    });
    if (small || pays) found.push_back(std::move(nodes));
  }
  return found;
}

}  // namespace sardonyx_onednn
