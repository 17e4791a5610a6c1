// capi/model_edit/describe.cpp - a model's graphs, nodes and values as JSON, for tools that change them.
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "base/dtype.h"
#include "capi/model_edit/edited_model.h"

namespace sardonyx::capi {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no numbers for these three.
Json NumberJson(float number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number > 0 ? "inf" : "-inf";
  return number;
}

void AddType(Json& json, const Type& type) {
  if (type.is_none()) return;
  json["type"] = type.is_tensor() ? std::string(Name(type.dtype)) : type.ToText();
  if (!type.is_tensor() || !type.has_rank) return;
  Json shape = Json::array();
  for (const Dim& dim : type.dims)
    shape.push_back(dim.known() ? Json(dim.number()) : dim.symbolic() ? Json(dim.ToText()) : Json(nullptr));
  json["shape"] = std::move(shape);
}

// The value of an attribute as far as JSON can hold it; bodies and tensors are named by type alone.
Json AttributeJson(const AttributeValue& value) {
  Json json = {{"type", AttributeTypeName(AttributeTypeOf(value))}};
  std::visit(
      [&](const auto& held) {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<Held, float>) {
          json["value"] = NumberJson(held);
        } else if constexpr (std::is_same_v<Held, std::vector<float>>) {
          json["value"] = Json::array();
          for (const float number : held) json["value"].push_back(NumberJson(number));
        } else if constexpr (std::is_same_v<Held, std::int64_t> || std::is_same_v<Held, std::string> ||
                             std::is_same_v<Held, std::vector<std::int64_t>> ||
                             std::is_same_v<Held, std::vector<std::string>>) {
          json["value"] = held;
        } else if constexpr (std::is_same_v<Held, AttributeReference>) {
          json["reference"] = held.name;
        }
      },
      value);
  return json;
}

std::string NameOrNone(const Graph& graph, ValueId id) { return id == kNoValue ? "" : graph.value(id).name; }

Json Names(const Graph& graph, const std::vector<ValueId>& ids) {
  Json names = Json::array();
  for (const ValueId id : ids) names.push_back(NameOrNone(graph, id));
  return names;
}

Json NodeJson(const Graph& graph, const Node& node) {
  Json json = {{"id", node.id},
               {"name", node.name},
               {"domain", node.domain},
               {"op_type", node.op_type},
               {"inputs", Names(graph, node.inputs)},
               {"outputs", Names(graph, node.outputs)}};
  if (!node.overload.empty()) json["overload"] = node.overload;
  Json attributes = Json::object();
  for (const Attribute& attribute : node.attributes) attributes[attribute.name] = AttributeJson(attribute.value);
  json["attributes"] = std::move(attributes);
  return json;
}

Json InitializerJson(const ValueInfo& value) {
  const Initializer& initializer = *value.initializer;
  Json json = {{"name", value.name}};
  AddType(json, Type::TensorOf(initializer.tensor.dtype(), Dims(initializer.tensor.shape())));
  json["bytes"] = initializer.tensor.byte_size();
  json["constant"] = initializer.kind == Initializer::Kind::kConstant;
  if (!initializer.file.empty()) json["file"] = initializer.file;
  return json;
}

Json GraphJson(const SardonyxModel::Place& place) {
  const Graph& graph = *place.graph;
  Json json = {{"name", graph.name}};
  if (place.node != kNoNode) {
    json["parent"] = place.parent;
    json["node"] = place.node;
    json["attribute"] = place.attribute;
  }
  json["inputs"] = Names(graph, graph.inputs);
  json["outputs"] = Names(graph, graph.outputs);
  Json nodes = Json::array(), initializers = Json::array(), values = Json::object();
  for (const NodeId id : graph.order) nodes.push_back(NodeJson(graph, graph.node(id)));
  for (const ValueInfo& value : graph.values) {
    if (value.is_captured) continue;
    if (value.initializer != nullptr) initializers.push_back(InitializerJson(value));
    if (value.type.is_none() || (value.initializer != nullptr && !value.is_input)) continue;
    if (value.producer == kNoNode && !value.is_input) continue;  // of a node that is gone
    AddType(values[value.name], value.type);
  }
  json["nodes"] = std::move(nodes);
  json["initializers"] = std::move(initializers);
  json["values"] = std::move(values);
  return json;
}

}  // namespace

std::string DescribeModel(const SardonyxModel& edited) {
  const Model& model = edited.model;
  Json json = {{"ir_version", model.ir_version},
               {"producer_name", model.producer_name},
               {"producer_version", model.producer_version},
               {"domain", model.domain},
               {"model_version", model.model_version},
               {"doc", model.doc}};
  json["opsets"] = Json::object();
  for (const OpsetImport& opset : model.opset_imports) json["opsets"][opset.domain] = opset.version;
  json["metadata"] = Json::object();
  for (const auto& [key, value] : model.metadata) json["metadata"][key] = value;
  json["functions"] = Json::array();
  for (const Function& function : model.functions)
    json["functions"].push_back({{"domain", function.domain}, {"name", function.name}});
  json["graphs"] = Json::array();
  for (const SardonyxModel::Place& place : edited.graphs)
    json["graphs"].push_back(place.graph == nullptr ? Json(nullptr) : GraphJson(place));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sardonyx::capi
