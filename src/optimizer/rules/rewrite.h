// optimizer/rules/rewrite.h - edits that passes with a function share: nodes with inferred types, values that take
// another's place, nodes that nobody reads any more.
#pragma once

#include <string_view>
#include <vector>

#include "ir/attributes.h"
#include "ops/registry.h"
#include "ops/schema/schema.h"

namespace sardonyx::optimizer {

// A node that a provider other than the CPU has claimed: no pass changes it or looks into it, and what it makes is a
// value like any other. It goes only when nobody reads its results. Passes keep to that by going over OwnNodes and by
// recognizing neighbours with Is and what is built on it.
inline bool IsForeign(const Node& node) { return !node.provider.empty(); }

// The nodes of the graph that are not foreign, in order.
std::vector<NodeId> OwnNodes(const Graph& graph);

// A node of this operator that is not foreign.
inline bool Is(const Node& node, std::string_view op_type, std::string_view domain = "") {
  return node.op_type == op_type && node.domain == domain && !IsForeign(node);
}

class Rewrite {
 public:
  // New nodes get the name and the provider of `origin`.
  Rewrite(Graph& graph, const ops::Registry& registry, NodeId origin);

  // A node in the graph's spelling (SchemaFor) with one output, whose type is inferred; trailing missing inputs are
  // dropped.
  ValueId Add(std::string_view domain, std::string_view op_type, std::vector<ValueId> inputs,
              std::vector<Attribute> attributes = {});
  ValueId Add(std::string_view op_type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    return Add("", op_type, std::move(inputs), std::move(attributes));
  }
  // A constant of one axis, and one of rank 0 and element type `dtype` (a float type or int64).
  ValueId Ints(const std::vector<std::int64_t>& elements);
  ValueId Scalar(DType dtype, double value);

  // Every reader of `old` reads `by`; a graph output keeps its name: `by`'s producer makes it, or an Identity does. The
  // former producer and what only it read are erased.
  void Replace(ValueId old, ValueId by);
  // Erases the producer of `value` if nobody reads its outputs, and so on upwards.
  void DropUnused(ValueId value);

  Graph& graph() { return graph_; }
  const ops::Registry& registry() const { return registry_; }

 private:
  Graph& graph_;
  const ops::Registry& registry_;
  std::string name_, provider_;
};

// How the graph spells an operator: by the opset that it imports (the newest of all once the graph is upgraded), or the
// newest there is if it does not import the domain. nullptr: it has no such operator.
const ops::OpSchema* SchemaFor(const Graph& graph, std::string_view domain, std::string_view op_type);

// Tensors of known rank whose dimensions are the same for all that is known of them.
bool SameDims(const Type& a, const Type& b);

// Whether `by` may take the place of `old`: where a graph output is replaced, a node must make `by` whose output may
// get its name. And does so: every reader of `old`, whose producer is gone, reads `by`.
bool CanTakePlace(const Graph& graph, ValueId old, ValueId by);
void TakePlace(Graph& graph, ValueId old, ValueId by);

// Takes a node out whose output 0 is its input 0; false where both ends have a name that the user knows.
bool TakeOut(Graph& graph, NodeId node);

// True if the registry has the newest version of the operator.
bool HasOperator(const ops::Registry& registry, std::string_view domain, std::string_view op_type);

// The operator in the standard domain that makes `value`; nullptr if another (or none) does, or a foreign node.
const Node* ProducerOf(const Graph& graph, ValueId value, std::string_view op_type);
// The only reader of a value that is no graph output; kNoNode if there are several or none.
NodeId SoleReader(const Graph& graph, ValueId value);
// The one element of a numeric constant; nullopt if it is no such constant.
std::optional<double> ScalarOf(const Graph& graph, ValueId value);
// The elements of a constant int64 tensor.
std::optional<std::vector<std::int64_t>> IntsOf(const Graph& graph, ValueId value);

// Calls `edit(graph)` for every graph, bodies first, and refreshes what nodes capture; true if any call returned true.
template <typename Edit>
bool ForEachGraph(Graph& graph, Edit&& edit) {
  bool changed = false;
  for (const NodeId id : OwnNodes(graph)) {
    bool body_changed = false;
    for (Graph* body : graph.node(id).Subgraphs()) body_changed |= ForEachGraph(*body, edit);
    if (body_changed) graph.RefreshCaptures(id);
    changed |= body_changed;
  }
  if (!edit(graph)) return changed;
  graph.SortTopologically();
  return true;
}

// Calls `edit(graph, node)` for every node of every graph that is not foreign, bodies first; true if any call returned
// true.
template <typename Edit>
bool ForEachNode(Graph& graph, Edit&& edit) {
  return ForEachGraph(graph, [&](Graph& each) {
    bool changed = false;
    for (const NodeId id : OwnNodes(each))
      if (!each.node(id).erased) changed |= edit(each, id);
    return changed;
  });
}

}  // namespace sardonyx::optimizer
