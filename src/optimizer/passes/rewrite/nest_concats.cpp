// optimizer/passes/rewrite/nest_concats.cpp - what begins like another Concat reads its result:
// Concat(a, b, c) beside Concat(a, b) becomes Concat(Concat(a, b), c).
//
// Each layer of a DenseNet joins the results of all layers before it. Nested, each of them is part of one image only,
// so that all are computed where they lie in the last and largest (planner/plan_windows.cpp) and nothing is copied.
#include <algorithm>

#include "optimizer/passes/passes.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

// Along the last axis of images of floats: there the planner lets parts lie in the whole.
bool JoinsRows(const Graph& graph, const Node& node) {
  if (!Is(node, "Concat") || node.inputs.size() < 2) return false;
  const Type& y = graph.value(node.outputs[0]).type;
  const std::int64_t axis = IntAttribute(node, "axis", 0);
  return y.dtype == DType::kFloat && y.has_rank && y.rank() > 2 &&
         (axis == -1 || axis + 1 == static_cast<std::int64_t>(y.rank()));
}

// The longest other Concat that `node` begins like; nullptr if there is none.
const Node* Beginning(const Graph& graph, const Node& node) {
  const Node* longest = nullptr;
  for (const NodeId id : graph.value(node.inputs[0]).consumers) {
    const Node& other = graph.node(id);
    if (!JoinsRows(graph, other) || other.inputs.size() >= node.inputs.size()) continue;
    if (!std::equal(other.inputs.begin(), other.inputs.end(), node.inputs.begin())) continue;
    if (longest == nullptr || longest->inputs.size() < other.inputs.size()) longest = &other;
  }
  return longest;
}

bool NestConcats(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) {
    std::vector<NodeId> nodes = OwnNodes(each);
    std::erase_if(nodes, [&](NodeId id) { return !JoinsRows(each, each.node(id)); });
    std::stable_sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {  // while the shorter ones have all inputs
      return each.node(a).inputs.size() > each.node(b).inputs.size();
    });
    bool changed = false;
    for (const NodeId id : nodes) {
      const Node& node = each.node(id);
      const Node* const beginning = Beginning(each, node);
      if (beginning == nullptr) {
        context.No(each, id, "no other Concat joins its first inputs");
        continue;
      }
      context.Yes(each, id, "reads the result of ", Describe(each, *beginning));
      std::vector<ValueId> parts = {beginning->outputs[0]};
      parts.insert(parts.end(), node.inputs.begin() + static_cast<std::ptrdiff_t>(beginning->inputs.size()),
                   node.inputs.end());
      const ValueId y = node.outputs[0];
      const std::int64_t axis = IntAttribute(node, "axis", 0);
      Rewrite rewrite(each, context.registry, id);
      rewrite.Replace(y, rewrite.Add("Concat", std::move(parts), {{"axis", axis}}));
      changed = true;
    }
    return changed;
  });
}

}  // namespace

constinit const Pass kNestConcats = {.name = "nest_concats", .level = Level::kLayout, .run = NestConcats};

}  // namespace sardonyx::optimizer
