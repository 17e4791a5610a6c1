// ops/spell_context.h - how an operator's spell function writes a node that a session keeps in an old form into a file
// of a newer opset.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/attributes.h"

namespace sardonyx::ops {

class SpellContext {
 public:
  SpellContext(Graph& graph, NodeId id, std::int64_t opset) : graph_(&graph), id_(id), opset_(opset) {}

  Graph& graph() const { return *graph_; }
  NodeId id() const { return id_; }
  Node& node() const { return graph_->node(id_); }
  // The opset of the file.
  std::int64_t opset() const { return opset_; }
  // The same for another node of the graph.
  SpellContext At(NodeId id) const { return {*graph_, id, opset_}; }

  // The type of input i.
  const Type& InputType(std::size_t i) const { return graph_->value(node().inputs[i]).type; }
  // Adds a node of ONNX's domain, in the version of the file's opset, and returns its output.
  ValueId Add(std::string_view op_type, std::vector<ValueId> inputs, std::vector<Attribute> attributes,
              const Type& type) const;
  ValueId Longs(const std::vector<std::int64_t>& numbers) const;
  // Fails with kNotImplemented naming node and opset.
  [[noreturn]] void Fail(std::string_view why) const;

 private:
  Graph* graph_;
  NodeId id_;
  std::int64_t opset_;
};

// The version of an operator of ONNX's domain in a file of this opset; 0 if the opset has no such operator.
int VersionAt(std::string_view op_type, std::int64_t opset);

}  // namespace sardonyx::ops
