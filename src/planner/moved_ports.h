// planner/moved_ports.h - inputs and outputs that move from the host to the device where a graph reads or makes them.
#pragma once

#include "ir/graph.h"

namespace sardonyx::planner {

// The device that an input could lie on: all who copy it (planner/copy_nodes.h) copy it there. Device{}: none.
Device DeviceOfInput(const Graph& graph, ValueId input);
// The device that an output is copied from. Device{}: none.
Device DeviceOfOutput(const Graph& graph, ValueId output);

// The input lies on its device, which must not be the host: those who copied it there read it as it is, and the host
// gets one copy. The graph is to be sorted afterwards.
void MoveInput(Graph& graph, ValueId input);
// The output is what its node makes on its device, which must not be the host; who read it on the host reads a copy.
// The graph is to be sorted afterwards.
void MoveOutput(Graph& graph, ValueId output);

}  // namespace sardonyx::planner
