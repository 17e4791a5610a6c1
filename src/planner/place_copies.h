// planner/place_copies.h - a device for every value, and copies between devices as nodes.
#pragma once

#include "ir/graph.h"
#include "providers/provider.h"

namespace sardonyx::planner {

// The op_type of a copy (domain ai.sardonyx): its provider is the one whose device is on either side.
inline constexpr std::string_view kCopyDomain = "ai.sardonyx";
inline constexpr std::string_view kCopyFromHost = "MemcpyFromHost";
inline constexpr std::string_view kCopyToHost = "MemcpyToHost";

// Every node has its provider. Sets ValueInfo::device of all values and adds a copy node where a node reads a value
// that lies elsewhere, once per value and device; copies of what a body captures stand before the control-flow node,
// copies of constants are made now. Inputs and outputs of the model and of bodies, and what control flow passes on, lie
// on the host; values that are no tensors, too.
void PlaceCopies(Graph& graph, const providers::ProviderSet& set);

}  // namespace sardonyx::planner
