// runtime/devices/device_ports.cpp - finds the copies of a graph's inputs and outputs, and removes them.
#include "runtime/devices/device_ports.h"

#include <algorithm>

#include "planner/place_copies.h"

namespace sardonyx::runtime {
namespace {

bool Is(const Node& node, std::string_view copy) { return node.domain == planner::kCopyDomain && node.op_type == copy; }

Device InputDevice(const Graph& graph, const ValueInfo& input) {
  Device device;
  if (input.is_output) return device;
  for (const NodeId reader : input.consumers) {
    const Node& node = graph.node(reader);
    if (!Is(node, planner::kCopyFromHost)) continue;
    const Device& there = graph.value(node.outputs[0]).device;
    if (!device.IsHost() && !(device == there)) return Device{};
    device = there;
  }
  return device;
}

bool IsReadOnHost(const Graph& graph, const ValueInfo& input) {
  return std::any_of(input.consumers.begin(), input.consumers.end(),
                     [&](NodeId reader) { return !Is(graph.node(reader), planner::kCopyFromHost); });
}

Device OutputDevice(const Graph& graph, const ValueInfo& output) {
  if (output.producer == kNoNode) return Device{};
  const Node& node = graph.node(output.producer);
  if (!Is(node, planner::kCopyToHost)) return Device{};
  const ValueInfo& made = graph.value(node.inputs[0]);
  return made.producer != kNoNode ? made.device : Device{};
}

std::vector<ValueId> InputsOf(const Graph& graph) {
  std::vector<ValueId> inputs;
  std::copy_if(graph.inputs.begin(), graph.inputs.end(), std::back_inserter(inputs),
               [&](ValueId id) { return graph.value(id).constant() == nullptr; });
  return inputs;
}

}  // namespace

bool DevicePorts::any() const {
  const auto on_device = [](const Device& device) { return !device.IsHost(); };
  return std::any_of(inputs.begin(), inputs.end(), on_device) || std::any_of(outputs.begin(), outputs.end(), on_device);
}

DevicePorts FindDevicePorts(const Graph& graph) {
  DevicePorts ports;
  for (const ValueId id : InputsOf(graph)) {
    ports.inputs.push_back(InputDevice(graph, graph.value(id)));
    ports.shared_inputs.push_back(IsReadOnHost(graph, graph.value(id)));
  }
  for (const ValueId id : graph.outputs) {
    ports.outputs.push_back(OutputDevice(graph, graph.value(id)));
    ports.shared_outputs.push_back(!graph.value(id).consumers.empty());
  }
  return ports.any() ? ports : DevicePorts();  // every run asks
}

namespace {

// The input lies on the device: those who copied it there read it as it is, and the host gets one copy.
void MoveInput(Graph& graph, ValueId input) {
  std::vector<NodeId> copies;
  for (const NodeId reader : graph.value(input).consumers)
    if (Is(graph.node(reader), planner::kCopyFromHost)) copies.push_back(reader);
  Node home;
  home.op_type = planner::kCopyToHost;
  home.domain = planner::kCopyDomain;
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

// The output is what its node makes on the device; who read it on the host reads a copy.
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

}  // namespace

Graph WithoutCopies(Graph graph, const std::vector<bool>& inputs, const std::vector<bool>& outputs) {
  const std::vector<ValueId> all = InputsOf(graph);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (inputs[i]) MoveInput(graph, all[i]);
  for (std::size_t k = 0; k < graph.outputs.size(); ++k)
    if (outputs[k]) MoveOutput(graph, graph.outputs[k]);
  graph.SortTopologically();
  return graph;
}

}  // namespace sardonyx::runtime
