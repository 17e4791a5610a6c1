// planner/moved_ports.cpp - finds the copies of a graph's inputs and outputs, and removes them.
#include "planner/moved_ports.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "planner/copy_nodes.h"

namespace sardonyx::planner {
namespace {

bool Is(const Node& node, std::string_view copy) { return node.domain == kCopyDomain && node.op_type == copy; }

}  // namespace

Device DeviceOfInput(const Graph& graph, ValueId input) {
  Device device;
  if (graph.value(input).is_output) return device;
  for (const NodeId reader : graph.value(input).consumers) {
    const Node& node = graph.node(reader);
    if (!Is(node, kCopyFromHost)) continue;
    const Device& there = graph.value(node.outputs[0]).device;
    if (!IsOrdinary(device) && !(device == there)) return Device{};
    device = there;
  }
  return device;
}

Device DeviceOfOutput(const Graph& graph, ValueId output) {
  if (graph.value(output).producer == kNoNode) return Device{};
  const Node& node = graph.node(graph.value(output).producer);
  if (!Is(node, kCopyToHost)) return Device{};
  const ValueInfo& made = graph.value(node.inputs[0]);
  return made.producer != kNoNode ? made.device : Device{};
}

void MoveInput(Graph& graph, ValueId input) {
  std::vector<NodeId> copies;
  for (const NodeId reader : graph.value(input).consumers)
    if (Is(graph.node(reader), kCopyFromHost)) copies.push_back(reader);
  Node home;
  home.op_type = kCopyToHost;
  home.domain = kCopyDomain;
  home.since_version = 1;
  home.provider = graph.node(copies.front()).provider;
  home.name = graph.FreshName(graph.value(input).name + "/to_host");
  const ValueId there = graph.AddValue(home.name, graph.value(input).type);
  graph.ReplaceUses(input, there);
  graph.value(input).device = graph.value(graph.node(copies.front()).outputs[0]).device;
  for (const NodeId copy : copies) graph.ReplaceUses(graph.node(copy).outputs[0], input);
  graph.EraseNodes(copies);
  if (graph.value(there).consumers.empty()) return;
  home.inputs = {input};
  home.outputs = {there};
  graph.AddNode(std::move(home));
}

void MoveOutput(Graph& graph, ValueId output) {
  const NodeId copy = graph.value(output).producer;
  const ValueId made = graph.node(copy).inputs[0];
  const NodeId producer = graph.value(made).producer;
  const std::vector<ValueId>& results = graph.node(producer).outputs;
  const auto at = static_cast<std::size_t>(std::find(results.begin(), results.end(), made) - results.begin());
  if (graph.value(output).consumers.empty()) {
    graph.EraseNode(copy);
  } else {
    const ValueId home =
        graph.AddValue(graph.FreshName(graph.value(output).name + "/to_host"), graph.value(output).type);
    graph.ReplaceUses(output, home);
    graph.MoveOutput(copy, 0, home);
  }
  graph.value(output).device = graph.value(made).device;
  graph.ReplaceUses(made, output);
  graph.MoveOutput(producer, at, output);
}

}  // namespace sardonyx::planner
