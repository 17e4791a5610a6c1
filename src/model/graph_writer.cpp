// model/graph_writer.cpp - writes GraphProto, FunctionProto, NodeProto and AttributeProto.
#include "model/graph_writer.h"

#include <utility>

#include "model/onnx_fields.h"

namespace sardonyx::model {
namespace {

std::string_view NameOf(const Graph& graph, ValueId id) {
  return id == kNoValue ? std::string_view() : std::string_view(graph.value(id).name);
}

// Whether the value's type must be told: a node makes it, and no other list holds it.
bool NeedsValueInfo(const ValueInfo& value) {
  // A shape without an element type, which inference may leave, is no type in a file.
  const bool has_type = !value.type.is_none() && !(value.type.is_tensor() && value.type.dtype == DType::kUndefined);
  const bool told = has_type || !value.doc.empty() || !value.metadata.empty();
  return told && value.producer != kNoNode && !value.is_output;
}

void WriteNames(Writer& message, std::uint32_t tag, const Graph& graph, const std::vector<ValueId>& ids) {
  for (const ValueId id : ids) {
    const std::string_view name = NameOf(graph, id);
    message.add_string(tag, name.data(), name.size());
  }
}

}  // namespace

void GraphWriter::WriteGraph(Writer graph, const Graph& from, bool is_main) {
  for (const NodeId id : from.order) WriteNode(Writer(graph, GraphField::kNode), from, from.node(id));
  graph.add_string(GraphField::kName, from.name.empty() ? "graph" : from.name);  // ONNX wants a name
  WriteInitializers(graph, from);
  WriteText(graph, GraphField::kDoc, from.doc);
  for (const ValueId id : from.inputs) WriteValueInfo(Writer(graph, GraphField::kInput), from.value(id));
  for (const ValueInfo& value : from.values)
    if (is_main && ir_version_ < 4 && value.initializer && !value.is_input)  // every initializer is an input there
      WriteValueInfo(Writer(graph, GraphField::kInput), value);
  for (const ValueId id : from.outputs) WriteValueInfo(Writer(graph, GraphField::kOutput), from.value(id));
  for (const ValueInfo& value : from.values)
    if (NeedsValueInfo(value)) WriteValueInfo(Writer(graph, GraphField::kValueInfo), value);
  WriteEntries(graph, GraphField::kMetadata, from.metadata);
}

void GraphWriter::WriteInitializers(Writer& graph, const Graph& from) {
  for (const ValueInfo& value : from.values)
    if (value.initializer && !value.is_captured) WriteInitializer(graph, value);
}

void GraphWriter::WriteFunction(Writer function, const Function& from) {
  const Graph& body = from.body;
  function.add_string(FunctionField::kName, from.name);
  WriteNames(function, FunctionField::kInput, body, body.inputs);
  WriteNames(function, FunctionField::kOutput, body, body.outputs);
  for (const std::string& name : from.attributes) function.add_string(FunctionField::kAttribute, name);
  WriteConstants(function, body);
  for (const NodeId id : body.order) WriteNode(Writer(function, FunctionField::kNode), body, body.node(id));
  WriteText(function, FunctionField::kDoc, from.doc);
  WriteOpsetImports(function, FunctionField::kOpsetImport, body.opset_imports);
  function.add_string(FunctionField::kDomain, from.domain);
  for (const Attribute& attribute : from.attribute_defaults)
    WriteAttribute(Writer(function, FunctionField::kAttributeProto), attribute);
  for (const ValueInfo& value : body.values)
    if (!value.type.is_none() && !value.is_captured) WriteValueInfo(Writer(function, FunctionField::kValueInfo), value);
  WriteText(function, FunctionField::kOverload, from.overload);
  WriteEntries(function, FunctionField::kMetadata, from.metadata);
}

// A function has no initializers: they become Constant nodes.
void GraphWriter::WriteConstants(Writer& function, const Graph& from) {
  for (const ValueInfo& value : from.values) {
    if (!value.initializer) continue;
    Writer node(function, FunctionField::kNode);
    node.add_string(NodeField::kOutput, value.name);
    node.add_string(NodeField::kOpType, "Constant");
    WriteAttribute(Writer(node, NodeField::kAttribute), {"value", value.initializer->tensor});
  }
}

void GraphWriter::WriteNode(Writer node, const Graph& graph, const Node& from) {
  WriteNames(node, NodeField::kInput, graph, from.inputs);
  WriteNames(node, NodeField::kOutput, graph, from.outputs);
  WriteText(node, NodeField::kName, from.name);
  node.add_string(NodeField::kOpType, from.op_type);
  for (const Attribute& attribute : from.attributes) WriteAttribute(Writer(node, NodeField::kAttribute), attribute);
  WriteText(node, NodeField::kDoc, from.doc);
  WriteText(node, NodeField::kDomain, from.domain);
  WriteText(node, NodeField::kOverload, from.overload);
  WriteEntries(node, NodeField::kMetadata, from.metadata);
}

void GraphWriter::WriteAttribute(Writer attribute, const Attribute& from) {
  attribute.add_string(AttributeField::kName, from.name);
  attribute.add_int32(AttributeField::kType, AttributeTypeOf(from.value));
  WriteValue(attribute, from.value);
}

void GraphWriter::WriteValue(Writer& out, const AttributeValue& value) {
  switch (value.index()) {  // AttributeProto.AttributeType, and a reference
    case kAttrFloat:
      out.add_float(AttributeField::kF, std::get<float>(value));
      break;
    case kAttrInt:
      out.add_int64(AttributeField::kI, std::get<std::int64_t>(value));
      break;
    case kAttrString:
      out.add_bytes(AttributeField::kS, std::get<std::string>(value));
      break;
    case kAttrTensor:
      WriteTensor(Writer(out, AttributeField::kT), std::get<Tensor>(value), "");
      break;
    case kAttrGraph:
      WriteGraph(Writer(out, AttributeField::kG), *std::get<GraphBox>(value), false);
      break;
    case kAttrFloats:
      for (const float f : std::get<std::vector<float>>(value)) out.add_float(AttributeField::kFloats, f);
      break;
    case kAttrInts:
      for (const std::int64_t i : std::get<std::vector<std::int64_t>>(value)) out.add_int64(AttributeField::kInts, i);
      break;
    case kAttrStrings:
      for (const std::string& s : std::get<std::vector<std::string>>(value)) out.add_bytes(AttributeField::kStrings, s);
      break;
    case kAttrTensors:
      for (const Tensor& t : std::get<std::vector<Tensor>>(value))
        WriteTensor(Writer(out, AttributeField::kTensors), t, "");
      break;
    case kAttrGraphs:
      for (const GraphBox& g : std::get<std::vector<GraphBox>>(value))
        WriteGraph(Writer(out, AttributeField::kGraphs), *g, false);
      break;
    case kAttrSparseTensor:
      WriteSparse(Writer(out, AttributeField::kSparseTensor), std::get<SparseTensor>(value), "");
      break;
    case kAttrSparseTensors:
      for (const SparseTensor& s : std::get<std::vector<SparseTensor>>(value))
        WriteSparse(Writer(out, AttributeField::kSparseTensors), s, "");
      break;
    case kAttrTypeProto:
      WriteType(out, AttributeField::kTp, std::get<Type>(value));
      break;
    case kAttrTypeProtos:
      for (const Type& t : std::get<std::vector<Type>>(value)) WriteType(out, AttributeField::kTypeProtos, t);
      break;
    default:
      if (const auto* reference = std::get_if<AttributeReference>(&value))
        out.add_string(AttributeField::kRefAttrName, reference->name);
      break;
  }
}

}  // namespace sardonyx::model
