// planner/context_graph.h - the graph of a model that holds what providers have compiled.
#pragma once

#include "ir/graph.h"
#include "providers/provider.h"

namespace sardonyx::planner {

// `graph` as Partition left it, its fused nodes replaced: by the nodes that their provider made for such models
// (set.contexts), or by the nodes that they were made from. Bodies of control flow likewise. Nothing says any more who
// runs what. Fails with kEpFail naming the provider for a context node that reads or makes other values than its group.
Graph ContextGraph(const Graph& graph, const providers::ProviderSet& set);

}  // namespace sardonyx::planner
