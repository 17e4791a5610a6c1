// runtime/devices/device_copy.h - the kernel of a copy between the host and a device.
#pragma once

#include "ir/graph.h"
#include "ops/op_def.h"
#include "providers/provider.h"

namespace sardonyx::runtime {

// `provider` is the one whose device is on one side of `node` (planner/copy_nodes.h); it must outlive the kernel.
ops::Prepared PrepareCopy(providers::Provider& provider, const Graph& graph, const Node& node);

}  // namespace sardonyx::runtime
