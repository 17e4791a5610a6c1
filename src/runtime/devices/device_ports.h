// runtime/devices/device_ports.h - inputs and outputs that lie on a device, where a graph has them on the host.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace sardonyx::runtime {

// The device that could hold each input (without constants) and output of a graph: where those who read the input copy
// it to, or the output is copied from. Device{}: only the host.
struct DevicePorts {
  std::vector<Device> inputs, outputs;
  // Nodes on the host read it, too: with the value on the device, it is copied for them.
  std::vector<bool> shared_inputs, shared_outputs;
  bool any() const;
};
DevicePorts FindDevicePorts(const Graph& graph);

// The graph without the copies of the inputs and outputs that are marked, which lie on their devices. They must have
// one. What nodes on the host read as well is copied there, once. All other nodes keep their ids.
Graph WithoutCopies(Graph graph, const std::vector<bool>& inputs, const std::vector<bool>& outputs);

}  // namespace sardonyx::runtime
