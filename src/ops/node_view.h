// ops/node_view.h - reads a node's attributes, with defaults and with errors that name the node.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace sardonyx::ops {

// A reader of attributes with defaults. The functions without a default fail with kInvalidGraph if the attribute is
// missing; all fail if it has another type, naming node, attribute, the type expected and found.
class AttributeReader {
 public:
  AttributeReader(const Graph& graph, const Node& node) : graph_(&graph), node_(&node) {}
  bool Has(std::string_view name) const { return node_->FindAttribute(name) != nullptr; }
  std::int64_t Int(std::string_view name) const;
  std::int64_t Int(std::string_view name, std::int64_t otherwise) const;
  bool Flag(std::string_view name, bool otherwise = false) const { return Int(name, otherwise ? 1 : 0) != 0; }
  float Float(std::string_view name) const;
  float Float(std::string_view name, float otherwise) const;
  const std::string& String(std::string_view name) const;
  std::string String(std::string_view name, std::string_view otherwise) const;
  std::vector<std::int64_t> Ints(std::string_view name) const;  // empty if missing
  std::vector<float> Floats(std::string_view name) const;
  std::vector<std::string> Strings(std::string_view name) const;
  // The same without a copy, for long lists; valid while the node is unchanged.
  std::span<const std::int64_t> IntsView(std::string_view name) const;
  std::span<const float> FloatsView(std::string_view name) const;
  std::span<const std::string> StringsView(std::string_view name) const;
  const Tensor* TensorAttribute(std::string_view name) const;  // nullptr if missing
  const Graph* GraphAttribute(std::string_view name) const;
  DType DTypeAttribute(std::string_view name,
                       DType otherwise) const;  // an int attribute that holds a TensorProto.DataType

  const Graph& graph() const { return *graph_; }
  const Node& node() const { return *node_; }
  std::string_view op_type() const { return node_->op_type; }
  std::size_t InputCount() const { return node_->inputs.size(); }
  std::size_t OutputCount() const { return node_->outputs.size(); }
  bool HasOutput(std::size_t i) const { return i < node_->outputs.size() && node_->outputs[i] != kNoValue; }
  // "input 1 ('B')", with the name that the schema gives it, for messages.
  std::string InputText(std::size_t i) const;
  // Fails with the node named: "[Op] node 'name': parts...".
  template <typename... Parts>
  [[noreturn]] void Fail(Code code, const Parts&... parts) const {
    sardonyx::Fail(code, Prefix(), parts...);
  }

 private:
  std::string Prefix() const;
  const Graph* graph_;
  const Node* node_;
};

}  // namespace sardonyx::ops
