// optimizer/rules/rewrite.h - edits that passes written as functions share: adding nodes with inferred types, replacing
// values, and removing nodes that nobody reads any more.
#pragma once

#include <string_view>
#include <vector>

#include "ir/attributes.h"
#include "ops/registry.h"
#include "ops/schema/schema.h"

namespace sardonyx::optimizer {

// A node that a provider other than the CPU has claimed. No pass changes it or looks into it, and its results are
// values like any other. It is removed only when nobody reads its results. Passes keep to that by iterating over
// OwnNodes, and by recognizing neighbours with Is and the functions built on it.
inline bool IsForeign(const Node& node) { return !node.provider.empty(); }

// The nodes of the graph that are not foreign, in order.
std::vector<NodeId> OwnNodes(const Graph& graph);
// Those of them that have bodies, in order.
std::vector<NodeId> NodesWithBodies(const Graph& graph);

// Whether a node is of this operator and not foreign.
inline bool Is(const Node& node, std::string_view op_type, std::string_view domain = "") {
  return node.op_type == op_type && node.domain == domain && !IsForeign(node);
}

class Rewrite {
 public:
  // New nodes get the name and the provider of `origin`.
  Rewrite(Graph& graph, const ops::Registry& registry, NodeId origin);

  // Adds a node in the graph's spelling (SchemaFor) with one output, and returns that. Its type is inferred; trailing
  // missing inputs are dropped.
  ValueId Add(std::string_view domain, std::string_view op_type, std::vector<ValueId> inputs,
              std::vector<Attribute> attributes = {});
  ValueId Add(std::string_view op_type, std::vector<ValueId> inputs, std::vector<Attribute> attributes = {}) {
    return Add("", op_type, std::move(inputs), std::move(attributes));
  }
  // Add a constant of rank 1, and one of rank 0 with element type `dtype` (a float type, int32 or int64).
  ValueId Ints(const std::vector<std::int64_t>& elements);
  ValueId Scalar(DType dtype, double value);

  // Makes every reader of `old` read `by`. A graph output keeps its name: `by`'s producer makes it, or an Identity
  // does. The former producer is erased, and so are nodes that only it read.
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

// The schema by which the graph spells an operator: that of the opset that it imports (the newest one once the graph is
// upgraded), or the newest schema if it does not import the domain. nullptr if there is no such operator.
const ops::OpSchema* SchemaFor(const Graph& graph, std::string_view domain, std::string_view op_type);

// Whether both are tensors of known rank whose dimensions are known to be the same.
bool SameDims(const Type& a, const Type& b);

// CanTakePlace: whether `by` may replace `old`; if `old` is a graph output, a node must make `by`, and that output must
// be free to take the name of `old`. TakePlace: makes every reader of `old`, whose producer is gone, read `by`.
bool CanTakePlace(const Graph& graph, ValueId old, ValueId by);
void TakePlace(Graph& graph, ValueId old, ValueId by);

// Removes a node whose output 0 equals its input 0; false if the user knows the names of both.
bool TakeOut(Graph& graph, NodeId node);

// True if the registry has the newest version of the operator.
bool HasOperator(const ops::Registry& registry, std::string_view domain, std::string_view op_type);

// The node of this operator in the standard domain that makes `value`; nullptr if another node does, a foreign one, or
// none.
const Node* ProducerOf(const Graph& graph, ValueId value, std::string_view op_type);
// The only reader of a value; kNoNode if there are several or none, or if the value is a graph output.
NodeId SoleReader(const Graph& graph, ValueId value);
// The element of a numeric constant; nullopt unless it is a constant with one element.
std::optional<double> ScalarOf(const Graph& graph, ValueId value);
// A scalar of this type; nothing for types that are no numbers of 8 bits or more.
std::optional<Tensor> ScalarTensor(DType dtype, double value);
// The elements of a constant int64 tensor.
std::optional<std::vector<std::int64_t>> IntsOf(const Graph& graph, ValueId value);

// Calls `edit(graph)` for every graph, bodies first, and refreshes what nodes capture; true if any call returned true.
template <typename Edit>
bool ForEachGraph(Graph& graph, Edit&& edit) {
  bool changed = false;
  for (const NodeId id : NodesWithBodies(graph)) {
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
