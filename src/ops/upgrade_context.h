// ops/upgrade_context.h - how an operator's upgrade function rewrites an old node into the newest spelling.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "ops/node_view.h"

namespace sardonyx::ops {

class UpgradeContext {
 public:
  UpgradeContext(const Graph& graph, const Node& original)
      : graph_(&graph), node(original), version_(original.since_version) {}

  // The version that the author's node follows.
  int version() const { return version_; }
  AttributeReader attributes() const { return {*graph_, node}; }
  const Graph& graph() const { return *graph_; }
  const Type* InputType(std::size_t i) const;  // nullptr if missing or unknown

  // Removes an attribute and returns its value; nullopt if the node doesn't have it.
  std::optional<AttributeValue> Take(std::string_view name);
  // Attribute `name` (int, ints, float, floats or tensor) becomes constant input `index` (int64 for ints, for floats
  // the element type of input 0 if `as_input0`). Does nothing if the attribute is missing.
  void AttributeToInput(std::string_view name, std::size_t index, bool as_input0 = false);
  void SetConstantInput(std::size_t index, Tensor tensor);
  void SetAttribute(std::string_view name, AttributeValue value) { node.SetAttribute(name, std::move(value)); }

 private:
  const Graph* graph_;

 public:
  Node node;  // a copy the function may change: op_type, domain, inputs, attributes
  // Constants that take the place of inputs (by index); the input id there is kNoValue.
  std::vector<std::pair<std::size_t, Tensor>> constants;

 private:
  int version_;
};

}  // namespace sardonyx::ops
