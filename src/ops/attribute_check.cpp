// ops/attribute_check.cpp - compares the names and types of a node's attributes with its schema.
#include "ops/attribute_check.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "ops/schema/substitute_schema.h"

namespace sardonyx::ops {
namespace {

template <typename... Parts>
[[noreturn]] void FailAt(const Graph& graph, const Node& node, const Parts&... parts) {
  Fail(Code::kInvalidGraph, "[", node.op_type, "] ", Describe(graph, node), ": ", parts...);
}

[[noreturn]] void FailUnknown(const Graph& graph, const Node& node, const OpSchema& schema, std::string_view name) {
  std::vector<std::string> names;
  for (const AttributeSpec& known : schema.attributes()) names.emplace_back(known.name());
  const std::string closest = ClosestName(name, names);
  // The words in parentheses are those that programs look for in ONNX Runtime's message.
  FailAt(graph, node, "unknown attribute '", name, "' of ", node.op_type, " version ", schema.since_version,
         " (Unrecognized attribute: ", name, " for operator ", node.op_type, ")",
         closest.empty() ? "" : "; did you mean '" + closest + "'?");
}

// ONNX Runtime reads the first attribute of a Constant, and tools leave notes of their own behind it.
bool IsNote(const Node& node, const Attribute& attribute) {
  return node.domain.empty() && node.op_type == "Constant" && &attribute != node.attributes.data();
}

}  // namespace

void CheckAttributes(const Graph& graph, const Node& node, const OpSchema& schema) {
  for (const Attribute& attribute : node.attributes) {
    const AttributeSpec* spec = schema.FindAttribute(attribute.name);
    if (spec == nullptr && IsNote(node, attribute)) continue;
    if (spec == nullptr) FailUnknown(graph, node, schema, attribute.name);
    if (std::holds_alternative<AttributeReference>(attribute.value) || AttributeTypeOf(attribute.value) == spec->type)
      continue;
    FailAt(graph, node, "attribute '", attribute.name, "': expected ", AttributeTypeName(spec->type), ", found ",
           AttributeTypeName(AttributeTypeOf(attribute.value)));
  }
  for (const AttributeSpec& spec : schema.attributes()) {
    if (spec.required && node.FindAttribute(spec.name()) == nullptr)
      FailAt(graph, node, "attribute '", spec.name(), "' (", AttributeTypeName(spec.type), ") is required and missing");
  }
}

void CheckAllAttributes(const Graph& graph) {
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    const OpSchema* schema =
        node.since_version == 0 ? nullptr : FindSchema(node.domain, node.op_type, node.since_version);
    if (schema == nullptr) schema = SubstituteSchema(node.domain, node.op_type);
    if (schema != nullptr) CheckAttributes(graph, node, *schema);
    for (const Graph* body : node.Subgraphs()) CheckAllAttributes(*body);
  }
}

}  // namespace sardonyx::ops
