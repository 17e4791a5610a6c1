// capi/graph/editor_parts.cpp - the functions of the model editor that make types, values, nodes, graphs and models.
#include <limits>
#include <set>
#include <utility>

#include "capi/functions.h"
#include "capi/graph/editor.h"
#include "capi/handles/element_type.h"
#include "capi/handles/op_attr.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/handles/value.h"
#include "ir/domain.h"

namespace sardonyx::capi {

void ORT_API_CALL ReleaseModel(OrtModel* input) noexcept { ReleaseHandle(input); }

}  // namespace sardonyx::capi

namespace sardonyx::capi::model_editor {
namespace {

OrtStatusPtr MakeType(OrtTypeInfo** out, const auto& type) noexcept {
  return Guard([&] {
    auto& result = Need(out, "type_info");
    result = MakeTypeInfo(type()).release();
  });
}

Type TensorType(const OrtTensorTypeAndShapeInfo* info, ONNXType kind) {
  OrtTypeInfo type;
  type.kind = kind;
  type.tensor = std::make_unique<OrtTensorTypeAndShapeInfo>(Need(info, "tensor_info"));
  return FromTypeInfo(type);
}

// A name that may be "" where an optional input or output is missing.
void AddValue(OrtNode& node, std::vector<OrtValueInfo*>& list, const char* name) {
  if (*name == '\0') return list.push_back(nullptr);
  for (OrtValueInfo& known : node.own_values)
    if (known.name == name) return list.push_back(&known);
  node.own_values.emplace_back().name = name;
  list.push_back(&node.own_values.back());
}

// The handles come to the caller's array as NULL: CreateNode takes them over.
void TakeAttributes(OrtNode& node, std::span<OrtOpAttr*> attributes) {
  std::set<std::string_view> names;
  for (const OrtOpAttr* attribute : attributes) {
    const Attribute& given = *AsAttribute(&Need(attribute, "attributes"));
    if (!names.insert(given.name).second)
      Fail(Code::kInvalidArgument, "node '", node.name, "': expected each attribute once, found '", given.name,
           "' twice");
  }
  for (OrtOpAttr*& attribute : attributes) {
    const std::unique_ptr<Attribute> owned(reinterpret_cast<Attribute*>(std::exchange(attribute, nullptr)));
    node.own_attributes.push_back(std::move(*owned));
    node.attributes.push_back(&node.own_attributes.back());
  }
}

template <typename Set>
OrtStatusPtr SetValues(OrtGraph* graph, OrtValueInfo** values, size_t count, const char* name, Set set) noexcept {
  return Guard([&] { set(Need(graph, "graph"), std::span(NeedArray(values, count, name), count)); });
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateTensorTypeInfo(const OrtTensorTypeAndShapeInfo* tensor_info,
                                               OrtTypeInfo** type_info) noexcept {
  return Guard([&] {
    auto& result = Need(type_info, "type_info");
    auto made = MakeTypeInfo(TensorType(tensor_info, ONNX_TYPE_TENSOR));
    made->tensor->symbols = tensor_info->symbols;  // our types have a number or a symbol, an info may have both
    result = made.release();
  });
}

OrtStatusPtr ORT_API_CALL CreateSparseTensorTypeInfo(const OrtTensorTypeAndShapeInfo* tensor_info,
                                                     OrtTypeInfo** type_info) noexcept {
  return MakeType(type_info, [&] { return TensorType(tensor_info, ONNX_TYPE_SPARSETENSOR); });
}

OrtStatusPtr ORT_API_CALL CreateMapTypeInfo(ONNXTensorElementDataType map_key_type, const OrtTypeInfo* map_value_type,
                                            OrtTypeInfo** type_info) noexcept {
  return MakeType(type_info, [&] {
    // A number that is no type of a key, which ONNX Runtime accepts here, is refused where a model uses the type.
    const int number = map_key_type;
    const bool known = number > 0 && number <= ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2;
    return Type::MapOf(known ? FromElementType(map_key_type) : DType::kUndefined,
                       FromTypeInfo(Need(map_value_type, "map_value_type")));
  });
}

OrtStatusPtr ORT_API_CALL CreateSequenceTypeInfo(const OrtTypeInfo* sequence_type, OrtTypeInfo** type_info) noexcept {
  return Guard([&] {
    auto& result = Need(type_info, "type_info");
    const OrtTypeInfo& element = Need(sequence_type, "sequence_type");
    auto made = MakeTypeInfo(Type::SequenceOf(FromTypeInfo(element)));
    if (element.tensor) made->sequence->symbols = element.tensor->symbols;
    result = made.release();
  });
}

OrtStatusPtr ORT_API_CALL CreateOptionalTypeInfo(const OrtTypeInfo* contained_type, OrtTypeInfo** type_info) noexcept {
  return MakeType(type_info, [&] { return Type::OptionalOf(FromTypeInfo(Need(contained_type, "contained_type"))); });
}

OrtStatusPtr ORT_API_CALL CreateValueInfo(const char* name, const OrtTypeInfo* type_info,
                                          OrtValueInfo** value_info) noexcept {
  return Guard([&] {
    auto& result = Need(value_info, "value_info");
    auto made = std::make_unique<OrtValueInfo>();
    made->name = &Need(name, "name");
    if (made->name.empty()) Fail(Code::kInvalidArgument, "argument 'name': expected the name of a value, found ''");
    made->type = MakeTypeInfo(FromTypeInfo(Need(type_info, "type_info")));
    result = made.release();
  });
}

OrtStatusPtr ORT_API_CALL CreateNode(const char* operator_name, const char* domain_name, const char* node_name,
                                     const char* const* input_names, size_t input_names_len,
                                     const char* const* output_names, size_t output_names_len, OrtOpAttr** attributes,
                                     size_t attribs_len, OrtNode** node) noexcept {
  return Guard([&] {
    auto& result = Need(node, "node");
    auto made = std::make_unique<OrtNode>();
    made->op_type = &Need(operator_name, "operator_name");
    made->domain = StandardDomain(&Need(domain_name, "domain_name"));
    made->name = &Need(node_name, "node_name");
    NeedArray(input_names, input_names_len, "input_names");
    NeedArray(output_names, output_names_len, "output_names");
    for (std::size_t i = 0; i < input_names_len; ++i)
      AddValue(*made, made->inputs, &Need(input_names[i], "input_names"));
    for (std::size_t i = 0; i < output_names_len; ++i)
      AddValue(*made, made->outputs, &Need(output_names[i], "output_names"));
    if (attributes != nullptr) TakeAttributes(*made, {attributes, attribs_len});
    result = made.release();
  });
}

OrtStatusPtr ORT_API_CALL CreateGraph(OrtGraph** graph) noexcept {
  return Guard([&] {
    auto& result = Need(graph, "graph");
    result = NewGraph().release();
  });
}

OrtStatusPtr ORT_API_CALL SetGraphInputs(OrtGraph* graph, OrtValueInfo** inputs, size_t inputs_len) noexcept {
  return SetValues(graph, inputs, inputs_len, "inputs", SetInputs);
}

OrtStatusPtr ORT_API_CALL SetGraphOutputs(OrtGraph* graph, OrtValueInfo** outputs, size_t outputs_len) noexcept {
  return SetValues(graph, outputs, outputs_len, "outputs", SetOutputs);
}

OrtStatusPtr ORT_API_CALL AddInitializerToGraph(OrtGraph* graph, const char* name, OrtValue* tensor,
                                                bool data_is_external) noexcept {
  return Guard([&] {
    const std::string_view text = &Need(name, "name");
    if (text.empty()) Fail(Code::kInvalidArgument, "argument 'name': expected the name of an initializer, found ''");
    AddInitializer(Need(graph, "graph"), text, AsValue(&Need(tensor, "tensor")), data_is_external);
  });
}

OrtStatusPtr ORT_API_CALL AddNodeToGraph(OrtGraph* graph, OrtNode* node) noexcept {
  return Guard([&] { AddNode(Need(graph, "graph"), &Need(node, "node")); });
}

OrtStatusPtr ORT_API_CALL CreateModel(const char* const* domain_names, const int* opset_versions,
                                      size_t opset_entries_len, OrtModel** model) noexcept {
  return Guard([&] {
    auto& result = Need(model, "model");
    NeedArray(domain_names, opset_entries_len, "domain_names");
    NeedArray(opset_versions, opset_entries_len, "opset_versions");
    auto made = std::make_unique<OrtModel>();
    std::set<std::string> seen;
    for (std::size_t i = 0; i < opset_entries_len; ++i) {
      std::string domain(StandardDomain(&Need(domain_names[i], "domain_names")));
      if (!seen.insert(domain).second)
        Fail(Code::kInvalidArgument, "argument 'domain_names': expected each domain once, found '", domain, "' twice");
      if (opset_versions[i] < 1)
        Fail(Code::kInvalidArgument, "opset of domain '", domain, "': expected 1 or more, found ", opset_versions[i]);
      made->opsets.push_back({std::move(domain), opset_versions[i]});
    }
    result = made.release();
  });
}

OrtStatusPtr ORT_API_CALL AddGraphToModel(OrtModel* model, OrtGraph* graph) noexcept {
  return Guard([&] {
    OrtModel& target = Need(model, "model");
    OrtGraph& part = Need(graph, "graph");
    if (target.graph != nullptr) Fail(Code::kInvalidArgument, "argument 'model': it has a graph already");
    if (part.source != nullptr || part.in_model)
      Fail(Code::kInvalidArgument, "argument 'graph': expected a new one that CreateGraph made, found one ",
           part.in_model ? "that is part of a model" : "to be read");
    part.opsets = target.opsets;
    part.in_model = true;
    target.graph.reset(&part);
  });
}

}  // namespace sardonyx::capi::model_editor
