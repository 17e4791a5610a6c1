// optimizer/passes/eliminate_dead_nodes.cpp - removes nodes whose outputs nobody reads.
#include "optimizer/passes.h"

namespace sardonyx::optimizer {
namespace {

bool EliminateIn(Graph& graph) {
  bool changed = false;
  // Against the order, so that a whole chain goes in one walk.
  for (std::size_t i = graph.order.size(); i-- > 0;) {
    const NodeId id = graph.order[i];
    bool body_changed = false;
    for (Graph* body : graph.node(id).Subgraphs()) body_changed |= EliminateIn(*body);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
    bool used = false;
    for (const ValueId output : graph.node(id).outputs) used |= output != kNoValue && graph.UseCount(output) != 0;
    if (used) continue;
    graph.EraseNode(id);
    changed = true;
  }
  return changed;
}

bool EliminateDeadNodes(Graph& graph, PassContext&) { return EliminateIn(graph); }

}  // namespace

constinit const Pass kEliminateDeadNodes = {
    .name = "eliminate_dead_nodes", .level = Level::kBasic, .run = EliminateDeadNodes};

}  // namespace sardonyx::optimizer
