// optimizer/passes/eliminate/eliminate_dead_nodes.cpp - removes nodes whose outputs nobody reads, and optional outputs
// that nobody reads.
#include "ops/schema/schema.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// Optional outputs that nobody reads (indices of MaxPool, all steps of an LSTM) need not be made.
bool DropOutputs(Graph& graph, NodeId id) {
  Node& node = graph.node(id);
  // How many outputs a BatchNormalization has says whether it learns (before opset 14).
  if (!node.domain.empty() || node.op_type == "BatchNormalization") return false;
  const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type, node.since_version);
  if (schema == nullptr || node.outputs.size() < 2) return false;
  bool changed = false;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const ops::FormalParam* param = schema->Output(i);
    if (node.outputs[i] == kNoValue || graph.UseCount(node.outputs[i]) != 0) continue;
    if (param == nullptr || param->option != ops::ParamOption::kOptional) continue;
    graph.value(node.outputs[i]).producer = kNoNode;
    node.outputs[i] = kNoValue;
    changed = true;
  }
  while (!node.outputs.empty() && node.outputs.back() == kNoValue) {  // the author may write none, too
    node.outputs.pop_back();
    changed = true;
  }
  return changed;
}

bool IsCustom(const Node& node, const ops::Registry& registry) {
  const ops::OpDef* op = registry.Find(node.domain, node.op_type, node.since_version);
  return op != nullptr && (op->traits & ops::kCustom) != 0;
}

bool EliminateIn(Graph& graph, const PassContext& context) {
  bool changed = false;
  // Against the order, so that a whole chain goes in one walk.
  for (std::size_t i = graph.order.size(); i-- > 0;) {
    const NodeId id = graph.order[i];
    bool body_changed = false;
    const bool foreign = IsForeign(graph.node(id));
    if (!foreign)
      for (Graph* body : graph.node(id).Subgraphs()) body_changed |= EliminateIn(*body, context);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
    bool used = false, read = false;
    for (const ValueId output : graph.node(id).outputs) {
      used |= output != kNoValue && graph.UseCount(output) != 0;
      read |= output != kNoValue && !graph.value(output).consumers.empty();
    }
    if (used) {
      if (!read) context.FarFrom(graph, id, "no node reads it, but it is an output of the graph");
      if (!foreign) changed |= DropOutputs(graph, id);
      continue;
    }
    if (IsCustom(graph.node(id), context.registry)) {
      context.No(graph, id, "custom operators run even if nobody reads their results");
      continue;
    }
    graph.EraseNode(id);
    changed = true;
  }
  return changed;
}

bool EliminateDeadNodes(Graph& graph, PassContext& context) { return EliminateIn(graph, context); }

}  // namespace

constinit const Pass kEliminateDeadNodes = {
    .name = "eliminate_dead_nodes", .level = Level::kBasic, .run = EliminateDeadNodes};

}  // namespace sardonyx::optimizer
