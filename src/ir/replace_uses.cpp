// ir/replace_uses.cpp - lets the readers of many values read other values.
#include "ir/replace_uses.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace sardonyx {

void ReplaceUses(Graph& graph, std::span<const std::pair<ValueId, ValueId>> replaced) {
  std::unordered_map<ValueId, ValueId> by;
  std::vector<NodeId> readers;
  for (const auto& [from, to] : replaced) {
    std::vector<NodeId>& consumers = graph.values[from].consumers;
    const bool is_captured = std::any_of(consumers.begin(), consumers.end(), [&, value = from](NodeId id) {
      const std::vector<ValueId>& captured = graph.node(id).implicit_inputs;
      return std::find(captured.begin(), captured.end(), value) != captured.end();
    });
    if (from == to || is_captured) {
      graph.ReplaceUses(from, to);
      continue;
    }
    by.emplace(from, to);
    readers.insert(readers.end(), consumers.begin(), consumers.end());
    std::vector<NodeId>& joined = graph.values[to].consumers;
    joined.insert(joined.end(), consumers.begin(), consumers.end());  // one entry for each input that reads it
    consumers.clear();
  }
  std::sort(readers.begin(), readers.end());
  readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
  for (const NodeId reader : readers) {
    for (ValueId& input : graph.node(reader).inputs) {
      if (const auto found = by.find(input); found != by.end()) input = found->second;
    }
  }
}

}  // namespace sardonyx
