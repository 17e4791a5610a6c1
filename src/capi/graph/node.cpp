// capi/graph/node.cpp - the functions that read an OrtNode and its attributes.
#include "capi/functions.h"
#include "capi/graph/copy_array.h"
#include "capi/handles/graph_view.h"
#include "capi/handles/op_attr.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "capi/handles/value.h"
#include "ops/schema/schema.h"

namespace sardonyx::capi {
namespace {

OrtStatusPtr TextOf(const OrtNode* node, std::string OrtNode::*text, const char* name, const char** out) noexcept {
  return Guard([&] { Need(out, name) = (Need(node, "node").*text).c_str(); });
}

template <typename List>
OrtStatusPtr Count(const OrtNode* node, List OrtNode::*list, const char* name, size_t* out) noexcept {
  return Guard([&] { Need(out, name) = (Need(node, "node").*list).size(); });
}

using Values = std::vector<OrtValueInfo*> OrtNode::*;

OrtStatusPtr Copy(const OrtNode* node, Values list, const char* name, const OrtValueInfo** out, size_t room) noexcept {
  return Guard([&] { CopyArray(Need(node, "node").*list, out, room, name); });
}

// An optional attribute that the node leaves out and that has no default.
bool MayHave(const OrtNode& node, std::string_view attribute) {
  if (node.since_version <= 0) return false;
  const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type, node.since_version);
  return schema != nullptr && schema->FindAttribute(attribute) != nullptr;
}

OrtOpAttrType TypeOf(const Attribute& attribute) {
  enum Type { kFloat = 1, kInt, kString, kTensor, kGraph, kFloats, kInts, kStrings };  // AttributeProto.AttributeType
  const int type = AttributeTypeOf(attribute.value);
  switch (type) {
    case 0:
      return ORT_OP_ATTR_UNDEFINED;
    case kFloat:
      return ORT_OP_ATTR_FLOAT;
    case kInt:
      return ORT_OP_ATTR_INT;
    case kString:
      return ORT_OP_ATTR_STRING;
    case kTensor:
      return ORT_OP_ATTR_TENSOR;
    case kGraph:
      return ORT_OP_ATTR_GRAPH;
    case kFloats:
      return ORT_OP_ATTR_FLOATS;
    case kInts:
      return ORT_OP_ATTR_INTS;
    case kStrings:
      return ORT_OP_ATTR_STRINGS;
    default:
      Fail(Code::kInvalidArgument, "attribute '", attribute.name, "': expected a type that OrtOpAttrType has, found ",
           AttributeTypeName(type));
  }
}

}  // namespace

// A graph releases its nodes itself.
void ORT_API_CALL ReleaseNode(OrtNode* input) noexcept {
  if (input != nullptr && (IsOther(input) || input->graph == nullptr)) ReleaseHandle(input);
}

OrtStatusPtr ORT_API_CALL Node_GetId(const OrtNode* node, size_t* node_id) noexcept {
  return Guard([&] { Need(node_id, "node_id") = Need(node, "node").id; });
}

OrtStatusPtr ORT_API_CALL Node_GetName(const OrtNode* node, const char** node_name) noexcept {
  return TextOf(node, &OrtNode::name, "node_name", node_name);
}

OrtStatusPtr ORT_API_CALL Node_GetOperatorType(const OrtNode* node, const char** operator_type) noexcept {
  return TextOf(node, &OrtNode::op_type, "operator_type", operator_type);
}

OrtStatusPtr ORT_API_CALL Node_GetDomain(const OrtNode* node, const char** domain_name) noexcept {
  return TextOf(node, &OrtNode::domain, "domain_name", domain_name);
}

OrtStatusPtr ORT_API_CALL Node_GetEpName(const OrtNode* node, const char** out) noexcept {
  return TextOf(node, &OrtNode::provider, "out", out);
}

OrtStatusPtr ORT_API_CALL Node_GetSinceVersion(const OrtNode* node, int* since_version) noexcept {
  return Guard([&] { Need(since_version, "since_version") = Need(node, "node").since_version; });
}

OrtStatusPtr ORT_API_CALL Node_GetNumInputs(const OrtNode* node, size_t* num_inputs) noexcept {
  return Count(node, &OrtNode::inputs, "num_inputs", num_inputs);
}

OrtStatusPtr ORT_API_CALL Node_GetInputs(const OrtNode* node, const OrtValueInfo** inputs, size_t num_inputs) noexcept {
  return Copy(node, &OrtNode::inputs, "inputs", inputs, num_inputs);
}

OrtStatusPtr ORT_API_CALL Node_GetNumOutputs(const OrtNode* node, size_t* num_outputs) noexcept {
  return Count(node, &OrtNode::outputs, "num_outputs", num_outputs);
}

OrtStatusPtr ORT_API_CALL Node_GetOutputs(const OrtNode* node, const OrtValueInfo** outputs,
                                          size_t num_outputs) noexcept {
  return Copy(node, &OrtNode::outputs, "outputs", outputs, num_outputs);
}

OrtStatusPtr ORT_API_CALL Node_GetNumImplicitInputs(const OrtNode* node, size_t* num_implicit_inputs) noexcept {
  return Count(node, &OrtNode::implicit_inputs, "num_implicit_inputs", num_implicit_inputs);
}

OrtStatusPtr ORT_API_CALL Node_GetImplicitInputs(const OrtNode* node, const OrtValueInfo** implicit_inputs,
                                                 size_t num_implicit_inputs) noexcept {
  return Copy(node, &OrtNode::implicit_inputs, "implicit_inputs", implicit_inputs, num_implicit_inputs);
}

OrtStatusPtr ORT_API_CALL Node_GetNumAttributes(const OrtNode* node, size_t* num_attributes) noexcept {
  return Count(node, &OrtNode::attributes, "num_attributes", num_attributes);
}

OrtStatusPtr ORT_API_CALL Node_GetAttributes(const OrtNode* node, const OrtOpAttr** attributes,
                                             size_t num_attributes) noexcept {
  return Guard([&] {
    CopyArray(Need(node, "node").attributes, attributes, num_attributes, "attributes",
              [](const Attribute* attribute) { return AsHandle(attribute); });
  });
}

// NULL, and no error, for an attribute that the operator has and the node leaves out.
OrtStatusPtr ORT_API_CALL Node_GetAttributeByName(const OrtNode* node, const char* attribute_name,
                                                  const OrtOpAttr** attribute) noexcept {
  return Guard([&] {
    const OrtNode& owner = Need(node, "node");
    const char* name = &Need(attribute_name, "attribute_name");
    const Attribute* found = owner.FindAttribute(name);
    Need(attribute, "attribute") = AsHandle(found);
    if (found == nullptr && !MayHave(owner, name))
      Fail(Code::kNotFound, "node '", owner.name, "' (", owner.op_type, ") has no attribute '", name, "'");
  });
}

OrtStatusPtr ORT_API_CALL Node_GetNumSubgraphs(const OrtNode* node, size_t* num_subgraphs) noexcept {
  return Count(node, &OrtNode::subgraphs, "num_subgraphs", num_subgraphs);
}

OrtStatusPtr ORT_API_CALL Node_GetSubgraphs(const OrtNode* node, const OrtGraph** subgraphs, size_t num_subgraphs,
                                            const char** attribute_names) noexcept {
  return Guard([&] {
    const OrtNode& owner = Need(node, "node");
    CopyArray(owner.subgraphs, subgraphs, num_subgraphs, "subgraphs",
              [](const std::unique_ptr<OrtGraph>& graph) { return graph.get(); });
    if (attribute_names != nullptr)
      CopyArray(owner.subgraph_attributes, attribute_names, num_subgraphs, "attribute_names");
  });
}

OrtStatusPtr ORT_API_CALL Node_GetGraph(const OrtNode* node, const OrtGraph** graph) noexcept {
  return Guard([&] { Need(graph, "graph") = Need(node, "node").graph; });
}

OrtStatusPtr ORT_API_CALL OpAttr_GetName(const OrtOpAttr* attribute, const char** name) noexcept {
  return Guard([&] { Need(name, "name") = AsAttribute(&Need(attribute, "attribute"))->name.c_str(); });
}

OrtStatusPtr ORT_API_CALL OpAttr_GetType(const OrtOpAttr* attribute, OrtOpAttrType* type) noexcept {
  return Guard([&] { Need(type, "type") = TypeOf(*AsAttribute(&Need(attribute, "attribute"))); });
}

// A copy: the caller may write to it.
OrtStatusPtr ORT_API_CALL OpAttr_GetTensorAttributeAsOrtValue(const OrtOpAttr* attribute,
                                                              OrtValue** attr_tensor) noexcept {
  return Guard([&] {
    const Attribute& source = *AsAttribute(&Need(attribute, "attribute"));
    auto& result = Need(attr_tensor, "attr_tensor");
    const auto* tensor = std::get_if<Tensor>(&source.value);
    if (tensor == nullptr) {
      Fail(Code::kInvalidArgument, "attribute '", source.name, "': expected a tensor, found ",
           AttributeTypeName(AttributeTypeOf(source.value)));
    }
    result = NewHandle(tensor->Clone());
  });
}

}  // namespace sardonyx::capi
