// optimizer/passes/eliminate_dropout.cpp - Dropout hands on its input at inference.
#include "ops/upgrade.h"
#include "optimizer/passes.h"
#include "optimizer/rewrite.h"

namespace sardonyx::optimizer {
namespace {

bool IsIdentity(const Graph& graph, NodeId id, const ops::Registry& registry) {
  const Node& original = graph.node(id);
  if (!original.domain.empty() || original.op_type != "Dropout" || original.inputs[0] == kNoValue) return false;
  const ops::Canonical canonical(graph, original, registry);
  const Node& node = canonical.node();
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue && graph.UseCount(node.outputs[1]) != 0)
    return false;  // the mask is wanted
  if (!canonical.HasInput(2)) return true;
  const Tensor* training = canonical.Constant(graph, 2);
  return training != nullptr && training->count() == 1 && !*training->data<bool>();
}

bool EliminateDropout(Graph& graph, PassContext& context) {
  return ForEachNode(
      graph, [&](Graph& each, NodeId id) { return IsIdentity(each, id, context.registry) && TakeOut(each, id); });
}

}  // namespace

constinit const Pass kEliminateDropout = {.name = "eliminate_dropout", .level = Level::kBasic, .run = EliminateDropout};

}  // namespace sardonyx::optimizer
