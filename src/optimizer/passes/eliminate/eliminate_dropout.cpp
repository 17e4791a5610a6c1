// optimizer/passes/eliminate/eliminate_dropout.cpp - Dropout hands on its input at inference.
#include "ops/upgrade.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

bool IsIdentity(const Graph& graph, NodeId id, const PassContext& context) {
  const Node& original = graph.node(id);
  if (!original.domain.empty() || original.op_type != "Dropout" || original.inputs[0] == kNoValue) return false;
  const ops::Canonical canonical(graph, original, context.registry);
  const Node& node = canonical.node();
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue && graph.UseCount(node.outputs[1]) != 0)
    return context.No(graph, id, "its mask is read");
  if (!canonical.HasInput(2)) return true;
  const Tensor* training = canonical.Constant(graph, 2);
  if (training == nullptr || training->count() != 1) return context.No(graph, id, "its training_mode is not constant");
  return !*training->data<bool>() || context.No(graph, id, "it is in training mode");
}

bool EliminateDropout(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    if (!IsIdentity(each, id, context)) return false;
    return TakeOut(each, id) || context.No(each, id, "both its ends have names that the user knows");
  });
}

}  // namespace

constinit const Pass kEliminateDropout = {.name = "eliminate_dropout", .level = Level::kBasic, .run = EliminateDropout};

}  // namespace sardonyx::optimizer
