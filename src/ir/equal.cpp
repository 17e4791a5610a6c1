// ir/equal.cpp - compares models field by field. Structured bindings name all fields of a struct, so a struct with a
// new field does not compile here until that field is compared.
#include "ir/equal.h"

#include <algorithm>
#include <cstring>

namespace sardonyx {
namespace {

bool Same(const Node& a, const Node& b);
bool Same(const ValueInfo& a, const ValueInfo& b);
bool Same(const Function& a, const Function& b);
bool Same(const Attribute& a, const Attribute& b);
bool Same(const AttributeValue& a, const AttributeValue& b);

bool Same(std::int64_t a, std::int64_t b) { return a == b; }
bool Same(const std::string& a, const std::string& b) { return a == b; }
bool Same(const Type& a, const Type& b) { return a == b; }

// Bits, not values: NaN is itself, and zeros have signs.
bool Same(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

bool Same(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape()) || a.device() != b.device()) return false;
  if (a.raw() == b.raw()) return true;
  if (a.raw() == nullptr || b.raw() == nullptr) return a.byte_size() == 0;
  if (!a.device().IsHost() || a.buffer()->owner() || b.buffer()->owner()) return false;
  if (IsString(a.dtype()))
    return std::equal(a.span<std::string>().begin(), a.span<std::string>().end(), b.data<std::string>());
  return std::memcmp(a.raw(), b.raw(), a.byte_size()) == 0;
}

bool Same(const SparseTensor& a, const SparseTensor& b) {
  const auto& [shape, values, indices, format, row_starts] = a;
  return shape == b.dense_shape && Same(values, b.values) && Same(indices, b.indices) && format == b.format &&
         Same(row_starts, b.row_starts);
}

bool Same(const GraphBox& a, const GraphBox& b) { return Same(*a, *b); }

bool Same(const AttributeReference& a, const AttributeReference& b) {
  const auto& [name, type] = a;
  return name == b.name && type == b.type;
}

bool Same(const Attribute& a, const Attribute& b) {
  const auto& [name, value] = a;
  return name == b.name && Same(value, b.value);
}

bool Same(const OpsetImport& a, const OpsetImport& b) {
  const auto& [domain, version] = a;
  return domain == b.domain && version == b.version;
}

bool Same(const Capture& a, const Capture& b) {
  const auto& [inner, outer] = a;
  return inner == b.inner && outer == b.outer;
}

template <template <typename, typename> typename List, typename T, typename A>
bool Same(const List<T, A>& a, const List<T, A>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const T& x, const T& y) { return Same(x, y); });
}

bool Same(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  return std::visit(
      [&]<typename T>(const T& value) {
        if constexpr (std::is_same_v<T, std::monostate>) {
          return true;
        } else {
          return Same(value, std::get<T>(b));
        }
      },
      a);
}

bool Same(const std::shared_ptr<const Initializer>& a, const std::shared_ptr<const Initializer>& b) {
  return a == b || (a != nullptr && b != nullptr && Same(*a, *b));
}

bool Same(const Node& a, const Node& b) {
  const auto& [id, erased, name, domain, op_type, overload, since_version, inputs, outputs, implicit_inputs, attributes,
               provider, provider_note, doc, metadata, order_hint] = a;
  return id == b.id && erased == b.erased && name == b.name && domain == b.domain && op_type == b.op_type &&
         overload == b.overload && since_version == b.since_version && inputs == b.inputs && outputs == b.outputs &&
         implicit_inputs == b.implicit_inputs && Same(attributes, b.attributes) && provider == b.provider &&
         provider_note == b.provider_note && doc == b.doc && metadata == b.metadata && order_hint == b.order_hint;
}

bool Same(const ValueInfo& a, const ValueInfo& b) {
  const auto& [name, type, initializer, producer, consumers, is_input, is_output, is_captured, shape_data, device,
               dim_denotations, dim_params, doc, metadata] = a;
  return name == b.name && type == b.type && Same(initializer, b.initializer) && producer == b.producer &&
         consumers == b.consumers && is_input == b.is_input && is_output == b.is_output &&
         is_captured == b.is_captured && shape_data == b.shape_data && device == b.device &&
         dim_denotations == b.dim_denotations && dim_params == b.dim_params && doc == b.doc && metadata == b.metadata;
}

bool Same(const Function& a, const Function& b) {
  const auto& [domain, name, overload, doc, attributes, attribute_defaults, body, metadata] = a;
  return domain == b.domain && name == b.name && overload == b.overload && doc == b.doc && attributes == b.attributes &&
         Same(attribute_defaults, b.attribute_defaults) && Same(body, b.body) && metadata == b.metadata;
}

}  // namespace

bool Same(const Initializer& a, const Initializer& b) {
  const auto& [tensor, sparse, kind, file, offset, length] = a;
  if (sparse.has_value() != b.sparse.has_value() || (sparse && !Same(*sparse, *b.sparse))) return false;
  return Same(tensor, b.tensor) && kind == b.kind && file == b.file && offset == b.offset && length == b.length;
}

bool SameAttributes(const Node& a, const Node& b) { return Same(a.attributes, b.attributes); }

// The private index by names follows from the values.
bool Same(const Graph& a, const Graph& b) {
  return a.name == b.name && a.doc == b.doc && Same(a.nodes, b.nodes) && Same(a.values, b.values) &&
         a.order == b.order && a.inputs == b.inputs && a.outputs == b.outputs && Same(a.captures, b.captures) &&
         Same(a.opset_imports, b.opset_imports) && a.metadata == b.metadata;
}

bool Same(const Model& a, const Model& b) {
  const auto& [ir_version, producer_name, producer_version, domain, doc, model_version, opset_imports, metadata, graph,
               functions, path] = a;
  return ir_version == b.ir_version && producer_name == b.producer_name && producer_version == b.producer_version &&
         domain == b.domain && doc == b.doc && model_version == b.model_version &&
         Same(opset_imports, b.opset_imports) && metadata == b.metadata && path == b.path && Same(graph, b.graph) &&
         Same(functions, b.functions);
}

}  // namespace sardonyx
