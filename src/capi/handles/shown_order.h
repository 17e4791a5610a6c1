// capi/handles/shown_order.h - the order in which a graph's nodes are shown to plug-ins.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace sardonyx::capi {

// The nodes in a topological order that is ONNX Runtime's: depth first from the nodes whose results no other node
// reads, beginning with the last of them; of the nodes that one node reads from, the last one comes first. Plug-ins
// that make groups as they walk over the nodes make the same ones in both runtimes.
std::vector<NodeId> ShownOrder(const Graph& graph);

}  // namespace sardonyx::capi
