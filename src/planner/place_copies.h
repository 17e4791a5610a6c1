// planner/place_copies.h - assigns a device to every value, and adds nodes that copy values between devices.
#pragma once

#include "ir/graph.h"
#include "providers/provider.h"

namespace sardonyx::planner {

// Every node must have its provider. Sets ValueInfo::device of all values, and adds a copy node where a node reads a
// value that lies elsewhere, once per value and device. Copies of values that a body captures stand before the
// control-flow node; constants are copied at once. Inputs and outputs of the model, and values that are not tensors,
// lie on the host; those of bodies, too, but for what stays on a device from turn to turn (planner/passed_on.h).
void PlaceCopies(Graph& graph, const providers::ProviderSet& set);

}  // namespace sardonyx::planner
