// ops/node_view.cpp - typed access to a node's attributes, and its errors.
#include "ops/node_view.h"

#include "ops/schema/schema.h"

namespace sardonyx::ops {
namespace {

template <typename T>
const T* Get(const AttributeReader& reader, std::string_view name) {
  const AttributeValue* value = reader.node().FindAttribute(name);
  if (value == nullptr) return nullptr;
  if (const T* found = std::get_if<T>(value)) return found;
  reader.Fail(Code::kInvalidGraph, "attribute '", name, "': expected ",
              AttributeTypeName(AttributeTypeOf(AttributeValue(T{}))), ", found ",
              AttributeTypeName(AttributeTypeOf(*value)));
}

template <typename T>
const T& Require(const AttributeReader& reader, std::string_view name) {
  if (const T* found = Get<T>(reader, name)) return *found;
  reader.Fail(Code::kInvalidGraph, "attribute '", name, "' is required and missing");
}

}  // namespace

std::string AttributeReader::Prefix() const { return "[" + node_->op_type + "] " + Describe(*graph_, *node_) + ": "; }

std::string AttributeReader::InputText(std::size_t i) const {
  const OpSchema* schema = FindSchema(node_->domain, node_->op_type, node_->since_version);
  const FormalParam* param = schema != nullptr ? schema->Input(i) : nullptr;
  return "input " + std::to_string(i) + (param != nullptr ? " ('" + std::string(param->name()) + "')" : "");
}

std::int64_t AttributeReader::Int(std::string_view name) const { return Require<std::int64_t>(*this, name); }
std::int64_t AttributeReader::Int(std::string_view name, std::int64_t otherwise) const {
  const auto* found = Get<std::int64_t>(*this, name);
  return found ? *found : otherwise;
}
float AttributeReader::Float(std::string_view name) const { return Require<float>(*this, name); }
float AttributeReader::Float(std::string_view name, float otherwise) const {
  const auto* found = Get<float>(*this, name);
  return found ? *found : otherwise;
}
const std::string& AttributeReader::String(std::string_view name) const { return Require<std::string>(*this, name); }
std::string AttributeReader::String(std::string_view name, std::string_view otherwise) const {
  const auto* found = Get<std::string>(*this, name);
  return found ? *found : std::string(otherwise);
}
// An empty list of the text syntax has no type of its own and reads as any list.
std::vector<std::int64_t> AttributeReader::Ints(std::string_view name) const {
  const auto* found = Get<std::vector<std::int64_t>>(*this, name);
  return found ? *found : std::vector<std::int64_t>{};
}
std::vector<float> AttributeReader::Floats(std::string_view name) const {
  const auto* found = Get<std::vector<float>>(*this, name);
  return found ? *found : std::vector<float>{};
}
std::vector<std::string> AttributeReader::Strings(std::string_view name) const {
  const auto* found = Get<std::vector<std::string>>(*this, name);
  return found ? *found : std::vector<std::string>{};
}
std::span<const std::int64_t> AttributeReader::IntsView(std::string_view name) const {
  const auto* found = Get<std::vector<std::int64_t>>(*this, name);
  return found ? std::span(*found) : std::span<const std::int64_t>{};
}
std::span<const float> AttributeReader::FloatsView(std::string_view name) const {
  const auto* found = Get<std::vector<float>>(*this, name);
  return found ? std::span(*found) : std::span<const float>{};
}
std::span<const std::string> AttributeReader::StringsView(std::string_view name) const {
  const auto* found = Get<std::vector<std::string>>(*this, name);
  return found ? std::span(*found) : std::span<const std::string>{};
}
const Tensor* AttributeReader::TensorAttribute(std::string_view name) const { return Get<Tensor>(*this, name); }
const Graph* AttributeReader::GraphAttribute(std::string_view name) const {
  const GraphBox* box = Get<GraphBox>(*this, name);
  return box ? &**box : nullptr;
}
DType AttributeReader::DTypeAttribute(std::string_view name, DType otherwise) const {
  const std::int64_t number = Int(name, static_cast<std::int64_t>(otherwise));
  if (number == 0) return otherwise;
  if (!IsDType(number))
    Fail(Code::kInvalidGraph, "attribute '", name, "': expected a TensorProto.DataType in [1, ", kDTypeCount - 1,
         "], found ", number);
  return static_cast<DType>(number);
}

}  // namespace sardonyx::ops
