// optimizer/passes/eliminate_identity.cpp - removes nodes that hand on their input: Identity, Dropout at inference,
// Cast to the same type, and sums and products with one operand.
#include <algorithm>

#include "ops/upgrade.h"
#include "optimizer/passes.h"

namespace sardonyx::optimizer {
namespace {

bool DropoutIsIdentity(const ops::Canonical& canonical, const Graph& graph) {
  const Node& node = canonical.node();
  if (node.outputs.size() > 1 && node.outputs[1] != kNoValue && graph.UseCount(node.outputs[1]) != 0)
    return false;  // the mask is wanted
  if (!canonical.HasInput(2)) return true;
  const Tensor* training = canonical.Constant(graph, 2);
  return training != nullptr && training->count() == 1 && !*training->data<bool>();
}

bool HandsOnItsInput(const Graph& graph, const Node& node, const ops::Registry& registry) {
  if (!node.domain.empty() || node.inputs.empty() || node.inputs[0] == kNoValue) return false;
  if (node.op_type == "Identity") return true;
  if (node.op_type == "Dropout") return DropoutIsIdentity(ops::Canonical(graph, node, registry), graph);
  if (node.op_type == "Cast") {
    const AttributeValue* to = node.FindAttribute("to");
    const Type& type = graph.value(node.inputs[0]).type;
    return to != nullptr && std::holds_alternative<std::int64_t>(*to) && type.is_tensor() &&
           std::get<std::int64_t>(*to) == static_cast<std::int64_t>(type.dtype);
  }
  const bool folds = node.op_type == "Sum" || node.op_type == "Max" || node.op_type == "Min" ||
                     node.op_type == "Mean" || node.op_type == "Concat";
  return folds && node.inputs.size() == 1;
}

// Takes the node out; false where both ends have a name the user knows.
bool TakeOut(Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId input = node.inputs[0], output = node.outputs[0];
  if (!graph.value(output).is_output) {
    graph.ReplaceUses(output, input);
    graph.EraseNode(id);
    return true;
  }
  const ValueInfo& source = graph.value(input);
  if (source.producer == kNoNode || source.is_output) return false;
  const NodeId producer = source.producer;
  const auto& made = graph.node(producer).outputs;
  const auto index = static_cast<std::size_t>(std::find(made.begin(), made.end(), input) - made.begin());
  const Type type = source.type;
  graph.EraseNode(id);
  graph.MoveOutput(producer, index, output);
  graph.ReplaceUses(input, output);
  if (graph.value(output).type.is_none()) graph.value(output).type = type;
  return true;
}

bool EliminateIn(Graph& graph, const ops::Registry& registry) {
  bool changed = false;
  for (const NodeId id : std::vector<NodeId>(graph.order)) {
    bool body_changed = false;
    for (Graph* body : graph.node(id).Subgraphs()) body_changed |= EliminateIn(*body, registry);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
    if (HandsOnItsInput(graph, graph.node(id), registry)) changed |= TakeOut(graph, id);
  }
  return changed;
}

bool EliminateIdentity(Graph& graph, PassContext& context) { return EliminateIn(graph, context.registry); }

}  // namespace

constinit const Pass kEliminateIdentity = {
    .name = "eliminate_identity", .level = Level::kBasic, .run = EliminateIdentity};

}  // namespace sardonyx::optimizer
