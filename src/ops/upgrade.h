// ops/upgrade.h - rewrites nodes from the author's opset versions to the one semantics of each operator.
#pragma once

#include <memory>

#include "ir/graph.h"
#include "ops/registry.h"
#include "ops/upgrade_context.h"

namespace sardonyx::ops {

// A node in its newest spelling: the node itself where it is that already, else an upgraded copy.
class Canonical {
 public:
  Canonical(const Graph& graph, const Node& node, const Registry& registry);
  const Node& node() const { return upgraded_ ? upgraded_->node : *original_; }
  const OpDef* op() const { return op_; }  // nullptr: no row (an unknown operator or a call of a function)
  // The constant input i where the spelling moved an attribute there, else what the graph says; nullptr if not
  // constant.
  const Tensor* Constant(const Graph& graph, std::size_t i) const;
  bool HasInput(std::size_t i) const;

 private:
  friend void Upgrade(Graph& graph, const Registry& registry);
  bool IsUnchanged() const;
  friend bool IsNewestSpelling(const Graph& graph, const Node& node, const Registry& registry);
  friend bool MeansTheSame(const Graph& graph, Node& node, int version, const Registry& registry);
  const Node* original_;
  const OpDef* op_ = nullptr;
  std::unique_ptr<UpgradeContext> upgraded_;
};

// True if the node reads as the newest version would write it, so that patterns may be compared with it as it stands.
bool IsNewestSpelling(const Graph& graph, const Node& node, const Registry& registry);

// True if a node of the given version that stands as this one does would mean the same.
bool MeansTheSame(const Graph& graph, Node& node, int version, const Registry& registry);

// Rewrites every node (of subgraphs, too) into its newest spelling; constants become initializers. The graph then
// imports the newest opset of every domain that we know.
void Upgrade(Graph& graph, const Registry& registry);

}  // namespace sardonyx::ops
