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

// A node's level rises by one wherever a path enters or leaves what is taken, so the taken nodes of one level have no
// path among them that leads through others. What has no makers, such as weights from integers, goes with its readers.
std::vector<int> Levels(const Graph& graph, const std::vector<bool>& taken) {
  const std::size_t count = graph.nodes.size();
  std::vector<int> level(count, 0);
  std::vector<bool> is_source(count, true);
  for (std::size_t i = 0; i < count; ++i) {
    for (const int value : graph.nodes[i].inputs) {
      if (value < 0) continue;
      const int maker = graph.producer[static_cast<std::size_t>(value)];
      if (maker >= 0) {
        const auto from = static_cast<std::size_t>(maker);
        level[i] = std::max(level[i], level[from] + (taken[from] == taken[i] ? 0 : 1));
      }
      if (maker >= 0 || graph.ConstantOf(value) == nullptr) is_source[i] = false;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (!taken[i] || !is_source[i]) continue;
    int lowest = -1;
    for (const int value : graph.nodes[i].outputs) {
      if (value < 0) continue;
      for (const int reader : graph.consumers[static_cast<std::size_t>(value)]) {
        const auto to = static_cast<std::size_t>(reader);
        if (taken[to] && (lowest < 0 || level[to] < lowest)) lowest = level[to];
      }
    }
    if (lowest >= 0) level[i] = lowest;
  }
  return level;
}

}  // namespace

std::vector<std::vector<int>> FindGroups(const Graph& graph, bool small) {
  const std::vector<bool> taken = TakenNodes(graph);
  const std::vector<int> level = Levels(graph, taken);
  const std::size_t count = graph.nodes.size();
  std::vector<int> group(count);
  std::iota(group.begin(), group.end(), 0);
  const auto root = [&](int index) {
    while (group[static_cast<std::size_t>(index)] != index) index = group[static_cast<std::size_t>(index)];
    return index;
  };
  for (std::size_t i = 0; i < count; ++i) {
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
