// optimizer/passes/eliminate/merge_views.cpp - replaces chains of Reshape, Flatten, Squeeze, Unsqueeze and Transpose by
// the shortest chain that does the same.
//
// A chain is followed with symbolic sizes (optimizer/shapes/axis_view.h) and written anew as at most
// Reshape-Transpose-Reshape. It is replaced if that moves fewer elements, or as many in fewer nodes.
#include <algorithm>

#include "optimizer/passes/passes.h"
#include "optimizer/shapes/axis_view.h"

namespace sardonyx::optimizer {
namespace {

// Nodes of the chain that nobody needs once its end is made otherwise, and how many of them move elements.
struct Cost {
  int nodes = 0, transposes = 0;
};
Cost CostOf(const Graph& graph, const std::vector<NodeId>& path) {
  Cost cost;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const Node& node = graph.node(path[i]);
    if (i > 0 && graph.UseCount(node.outputs[0]) > 1) break;
    ++cost.nodes;
    cost.transposes += node.op_type == "Transpose" ? 1 : 0;
  }
  return cost;
}

// Not the end of a chain: whatever reads it is a view that is looked at itself.
bool OnlyViewsRead(const Graph& graph, ValueId value) {
  const ValueInfo& info = graph.value(value);
  return !info.is_output && !info.consumers.empty() &&
         std::all_of(info.consumers.begin(), info.consumers.end(), [&](NodeId id) {
           const Node& reader = graph.node(id);
           return IsViewNode(reader) && reader.inputs[0] == value;
         });
}

bool MergeChain(Graph& graph, const PassContext& context, NodeId id) {
  const Node& node = graph.node(id);
  const ValueId end = node.outputs[0];
  if (OnlyViewsRead(graph, end)) return false;
  std::vector<NodeId> path;
  const auto view = AxisView::Trace(graph, end, {.path = &path});
  if (!view || path.empty()) return context.FarFrom(graph, id, "its sizes cannot be traced");
  const bool chain = path.size() > 1;
  const auto plan = view->MakePlan(OpenAxis(graph, node));
  if (!plan) return chain && context.No(graph, id, "the sizes of the chain cannot be written as constants");
  const Cost cost = CostOf(graph, path);
  const bool better =
      plan->transposes() < cost.transposes || (plan->transposes() == cost.transposes && plan->nodes() < cost.nodes);
  if (!better)
    return chain && context.No(graph, id, "the chain of ", path.size(), " views before it ",
                               cost.nodes < static_cast<int>(path.size()) ? "is read in its middle, too"
                                                                          : "has its shortest form already");
  const ValueInfo& source = graph.value(view->source());
  // An output that would only rename an input or another output stays a node.
  if (plan->nodes() == 0 && graph.value(end).is_output && (source.producer == kNoNode || source.is_output))
    return context.No(graph, id, "it would only rename an input or another output");
  Rewrite rewrite(graph, context.registry, id);
  rewrite.Replace(end, view->Build(rewrite, *plan));
  return true;
}

bool MergeViews(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) {
    const ops::OpSchema* reshape = SchemaFor(each, "", "Reshape");
    if (reshape == nullptr || reshape->max_inputs < 2) return false;  // before opset 5 the shape is an attribute
    bool changed = false;
    for (const NodeId id : OwnNodes(each)) {
      if (each.node(id).erased || !IsViewNode(each.node(id))) continue;
      changed |= MergeChain(each, context, id);
    }
    return changed;
  });
}

}  // namespace

constinit const Pass kMergeViews = {.name = "merge_views", .level = Level::kBasic, .run = MergeViews};

}  // namespace sardonyx::optimizer
