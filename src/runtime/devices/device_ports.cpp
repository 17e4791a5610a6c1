// runtime/devices/device_ports.cpp - finds the copies of a graph's inputs and outputs, and removes them.
#include "runtime/devices/device_ports.h"

#include <algorithm>

#include "planner/place_copies.h"

namespace sardonyx::runtime {
namespace {

bool Is(const Node& node, std::string_view copy) { return node.domain == planner::kCopyDomain && node.op_type == copy; }

Device InputDevice(const Graph& graph, const ValueInfo& input) {
  Device device;
  if (input.is_output || input.consumers.empty()) return device;
  for (const NodeId reader : input.consumers) {
    const Node& node = graph.node(reader);
    if (!Is(node, planner::kCopyFromHost)) return Device{};
    const Device& there = graph.value(node.outputs[0]).device;
    if (!device.IsHost() && !(device == there)) return Device{};
    device = there;
  }
  return device;
}

Device OutputDevice(const Graph& graph, const ValueInfo& output) {
  if (output.producer == kNoNode || !output.consumers.empty()) return Device{};
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
  for (const ValueId id : InputsOf(graph)) ports.inputs.push_back(InputDevice(graph, graph.value(id)));
  for (const ValueId id : graph.outputs) ports.outputs.push_back(OutputDevice(graph, graph.value(id)));
  return ports.any() ? ports : DevicePorts();  // every run asks
}

Graph WithoutCopies(Graph graph, const std::vector<bool>& inputs, const std::vector<bool>& outputs) {
  const std::vector<ValueId> all = InputsOf(graph);
  std::vector<NodeId> copies;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!inputs[i]) continue;
    const std::vector<NodeId> readers = graph.value(all[i]).consumers;
    for (const NodeId reader : readers) {
      const ValueId there = graph.node(reader).outputs[0];
      graph.value(all[i]).device = graph.value(there).device;
      copies.push_back(reader);
      graph.ReplaceUses(there, all[i]);
    }
  }
  for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
    if (!outputs[k]) continue;
    const ValueId output = graph.outputs[k];
    const NodeId copy = graph.value(output).producer;
    const ValueId made = graph.node(copy).inputs[0];
    const NodeId producer = graph.value(made).producer;
    const std::vector<ValueId>& results = graph.node(producer).outputs;
    const auto at = static_cast<std::size_t>(std::find(results.begin(), results.end(), made) - results.begin());
    graph.EraseNode(copy);
    graph.value(output).device = graph.value(made).device;
    graph.ReplaceUses(made, output);
    graph.MoveOutput(producer, at, output);
  }
  graph.EraseNodes(copies);
  return graph;
}

}  // namespace sardonyx::runtime
