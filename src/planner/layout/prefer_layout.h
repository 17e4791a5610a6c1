// planner/layout/prefer_layout.h - moves nodes to channels-last images for a provider that prefers these.
#pragma once

#include <vector>

#include "ir/graph.h"
#include "ops/registry.h"
#include "providers/provider.h"

namespace sardonyx::planner {

// A node of com.ms.internal.nhwc that the CPU does not run: the provider has to take it.
struct LentNode {
  NodeId id;
  Node written;  // as it was
};

struct Moved {
  bool changed = false;
  std::vector<LentNode> lent;
};

// Moves those of `nodes` to com.ms.internal.nhwc that the provider wants there (where it does not say: those that ONNX
// Runtime moves), if one image goes in first and one comes out; elementwise nodes between them follow. Images are
// transposed where they enter and leave.
Moved MoveToChannelsLast(Graph& graph, const ops::Registry& registry, const std::vector<NodeId>& nodes,
                         const providers::Provider& provider);

// Gives nodes that the provider did not take after all their own form again, between transpositions.
void MoveBack(Graph& graph, const ops::Registry& registry, const std::vector<LentNode>& nodes,
              const providers::Provider& provider);

}  // namespace sardonyx::planner
