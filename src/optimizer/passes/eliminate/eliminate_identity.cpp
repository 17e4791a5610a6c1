// optimizer/passes/eliminate/eliminate_identity.cpp - removes nodes that hand on their input: Identity, and sums,
// minima, maxima, means and Concats of one operand.
#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

bool HandsOnItsInput(const Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || node.inputs[0] == kNoValue) return false;
  if (node.op_type == "Identity") return true;
  const bool folds = node.op_type == "Sum" || node.op_type == "Max" || node.op_type == "Min" ||
                     node.op_type == "Mean" || node.op_type == "Concat";
  return folds && node.inputs.size() == 1;
}

bool EliminateIdentity(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) {
    if (!HandsOnItsInput(each.node(id))) return false;
    return TakeOut(each, id) || context.No(each, id, "both its ends have names that the user knows");
  });
}

}  // namespace

constinit const Pass kEliminateIdentity = {
    .name = "eliminate_identity", .level = Level::kBasic, .run = EliminateIdentity};

}  // namespace sardonyx::optimizer
