// planner/unique_dequantization.cpp - copies each DequantizeLinear that is read in more than one place.
#include "planner/unique_dequantization.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace sardonyx::planner {
namespace {

bool IsDequantization(const Node& node) {
  return node.op_type == "DequantizeLinear" && (node.domain.empty() || node.domain == "com.microsoft") &&
         node.provider.empty();
}

// Where a value is read: a node and which of its inputs.
using Place = std::pair<NodeId, std::size_t>;

std::vector<Place> PlacesOf(const Graph& graph, ValueId value) {
  std::vector<Place> places;
  for (const NodeId reader : graph.value(value).consumers) {
    const std::vector<ValueId>& inputs = graph.node(reader).inputs;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] == value) places.emplace_back(reader, i);
  }
  std::sort(places.begin(), places.end());
  places.erase(std::unique(places.begin(), places.end()), places.end());
  return places;
}

bool IsCaptured(const Graph& graph, ValueId value) {
  const std::vector<NodeId>& readers = graph.value(value).consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
    const std::vector<ValueId>& captured = graph.node(reader).implicit_inputs;
    return std::find(captured.begin(), captured.end(), value) != captured.end();
  });
}

bool Separate(Graph& graph, NodeId id) {
  const ValueId output = graph.node(id).outputs[0];
  std::vector<Place> places = PlacesOf(graph, output);
  const bool taken = graph.value(output).is_output || IsCaptured(graph, output);
  if (!taken && !places.empty()) places.erase(places.begin());
  for (const auto& [reader, input] : places) {
    Node copy = graph.node(id);
    const ValueInfo& value = graph.value(output);
    copy.name = copy.name.empty() ? copy.name : copy.name + "/duplicated";
    copy.outputs = {graph.AddValue(graph.FreshName(value.name + "/duplicated"), value.type)};
    const ValueId made = copy.outputs[0];
    graph.AddNode(std::move(copy));
    graph.SetInput(reader, input, made);
  }
  return !places.empty();
}

}  // namespace

void SeparateDequantization(Graph& graph) {
  bool changed = false;
  for (const NodeId id : std::vector<NodeId>(graph.order)) {
    for (Graph* body : graph.node(id).Subgraphs()) SeparateDequantization(*body);
    if (IsDequantization(graph.node(id)) && graph.node(id).outputs.size() == 1)
      changed = Separate(graph, id) || changed;
  }
  if (changed) graph.SortTopologically();
}

}  // namespace sardonyx::planner
