// ir/attributes.h - reads a node's attributes without complaint: one that is missing, or of another type, has a
// default. Operators that check the author's model use ops::AttributeReader instead.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace sardonyx {

// The attribute's value if the node has the attribute and it is of this type; nullptr otherwise. Valid while the node
// is unchanged.
template <typename T>
const T* AttributeAs(const Node& node, std::string_view name) {
  const AttributeValue* value = node.FindAttribute(name);
  return value != nullptr ? std::get_if<T>(value) : nullptr;
}

inline std::int64_t IntAttribute(const Node& node, std::string_view name, std::int64_t otherwise) {
  const auto* number = AttributeAs<std::int64_t>(node, name);
  return number != nullptr ? *number : otherwise;
}
inline float FloatAttribute(const Node& node, std::string_view name, float otherwise) {
  const auto* number = AttributeAs<float>(node, name);
  return number != nullptr ? *number : otherwise;
}
inline std::string_view TextAttribute(const Node& node, std::string_view name, std::string_view otherwise) {
  const auto* text = AttributeAs<std::string>(node, name);
  return text != nullptr ? std::string_view(*text) : otherwise;
}

}  // namespace sardonyx
