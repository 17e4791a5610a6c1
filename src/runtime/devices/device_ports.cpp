// runtime/devices/device_ports.cpp - finds the inputs and outputs of a graph that are copied, and moves them.
#include "runtime/devices/device_ports.h"

#include <algorithm>

#include "planner/copy_nodes.h"
#include "planner/moved_ports.h"

namespace sardonyx::runtime {
namespace {

bool IsReadOnHost(const Graph& graph, const ValueInfo& input) {
  return std::any_of(input.consumers.begin(), input.consumers.end(), [&](NodeId reader) {
    const Node& node = graph.node(reader);
    return node.domain != planner::kCopyDomain || node.op_type != planner::kCopyFromHost;
  });
}

std::vector<ValueId> InputsOf(const Graph& graph) {
  std::vector<ValueId> inputs;
  std::copy_if(graph.inputs.begin(), graph.inputs.end(), std::back_inserter(inputs),
               [&](ValueId id) { return graph.value(id).constant() == nullptr; });
  return inputs;
}

}  // namespace

bool DevicePorts::any() const {
  const auto on_device = [](const Device& device) { return !planner::IsOrdinary(device); };
  return std::any_of(inputs.begin(), inputs.end(), on_device) || std::any_of(outputs.begin(), outputs.end(), on_device);
}

DevicePorts FindDevicePorts(const Graph& graph) {
  DevicePorts ports;
  for (const ValueId id : InputsOf(graph)) {
    ports.inputs.push_back(planner::DeviceOfInput(graph, id));
    ports.shared_inputs.push_back(IsReadOnHost(graph, graph.value(id)));
  }
  for (const ValueId id : graph.outputs) {
    ports.outputs.push_back(planner::DeviceOfOutput(graph, id));
    ports.shared_outputs.push_back(!graph.value(id).consumers.empty());
  }
  return ports.any() ? ports : DevicePorts();  // every run asks
}

Graph WithoutCopies(Graph graph, const std::vector<bool>& inputs, const std::vector<bool>& outputs) {
  const std::vector<ValueId> all = InputsOf(graph);
  for (std::size_t i = 0; i < all.size(); ++i)
    if (inputs[i]) planner::MoveInput(graph, all[i]);
  for (std::size_t k = 0; k < graph.outputs.size(); ++k)
    if (outputs[k]) planner::MoveOutput(graph, graph.outputs[k]);
  graph.SortTopologically();
  return graph;
}

}  // namespace sardonyx::runtime
