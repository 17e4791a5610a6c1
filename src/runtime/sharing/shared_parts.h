// runtime/sharing/shared_parts.h - models, constants and graphs that are equal in several sessions, kept once in the
// process.
//
// Parts are compared by their contents, not by name: sessions that arrive at equal parts share them, whatever files,
// options or order of passes led there. All functions are thread-safe; what they return lives as long as somebody holds
// it.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "ir/graph.h"
#include "ops/op_def.h"

namespace sardonyx::runtime {

// An equal model (ir/equal.h) that another session holds, if there is one; else `own`, which later sessions may share
// from now on. Nobody may change it any more.
std::shared_ptr<const Model> SharedModel(std::shared_ptr<const Model> own);

// Likewise a constant with its bytes.
std::shared_ptr<const Initializer> SharedInitializer(std::shared_ptr<const Initializer> own);

// A graph that is ready to run, and what kernels made of its nodes.
class ReadyGraph {
 public:
  explicit ReadyGraph(Graph graph) : graph_(std::move(graph)) {}
  const Graph& graph() const { return graph_; }
  // What the operator prepared earlier for this node (of the graph or of a body), else `own`, which others get from now
  // on. For operators whose state depends only on the node, its types, and constants in the graph.
  ops::Prepared Share(const Node& node, const ops::OpDef& op, ops::Prepared own) const;

 private:
  struct State {
    const ops::OpDef* op;
    ops::Prepared prepared;
  };
  const Graph graph_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<const Node*, State> states_;
};

// Likewise the graph that a program runs. Kernels that were prepared from `own` may go on reading its constants: a
// graph that takes its place has the same ones (SharedInitializer), except for those whose bytes were dropped.
std::shared_ptr<const ReadyGraph> SharedGraph(std::unique_ptr<const ReadyGraph> own);

}  // namespace sardonyx::runtime
