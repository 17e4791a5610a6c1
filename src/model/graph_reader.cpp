// model/graph_reader.cpp - converts GraphProto and FunctionProto to Graph.
#include "model/graph_reader.h"

#include <unordered_set>
#include <utility>

#include "base/limits.h"
#include "ir/domain.h"
#include "model/onnx_fields.h"
#include "model/type_reader.h"

namespace sardonyx::model {
namespace {

// f(fields, index) for each field `tag` of `message`; `fields` stands at it.
template <typename F>
void ForEachField(const Message& message, std::uint32_t tag, F&& f) {
  std::int64_t index = 0;
  for (Message fields = message; fields.Next();)
    if (fields.tag() == tag) f(fields, index++);
}

constexpr Label kNodeLabel = {NodeField::kName, NodeField::kOpType};
constexpr Label kValueLabel = {ValueInfoField::kName};
constexpr Label kTensorLabel = {TensorField::kName};

}  // namespace

OpsetImport ReadOpsetImport(Message message) {
  OpsetImport import{"", 0};
  while (message.Next()) {
    if (message.tag() == EntryField::kDomain) import.domain = StandardDomain(message.Name());
    if (message.tag() == EntryField::kVersion) import.version = message.Int();
  }
  if (import.version < 1)
    message.Fail(Code::kInvalidGraph, "expected an opset version of at least 1, found ", import.version,
                 " for domain '", import.domain, "'");
  return import;
}

void AddOpsetImport(std::vector<OpsetImport>& imports, OpsetImport import, const Message& message) {
  constexpr std::size_t kMost = 1000;  // each graph of the model has a copy
  for (OpsetImport& other : imports) {
    if (other.domain != import.domain) continue;
    other.version = import.version;
    return;
  }
  if (imports.size() == kMost)
    message.Fail(Code::kInvalidGraph, "expected at most ", kMost, " opset imports, found more");
  imports.push_back(std::move(import));
}

Graph GraphReader::ReadGraph(const Message& message) {
  graph_.opset_imports = context_.opset_imports;
  ReadHead(message);
  ReadInitializers(message);
  AddNodeOutputs(message, GraphField::kNode);
  ReadTypes(message, GraphField::kValueInfo);
  ReadNodes(message, GraphField::kNode);
  ReadOutputs(message);
  message.InContext([&] { graph_.SortTopologically(); });
  return std::move(graph_);
}

void GraphReader::ReadHead(const Message& message) {
  for (Message m = message; m.Next();) {
    switch (m.tag()) {
      case GraphField::kName:
        graph_.name = m.Name();
        break;
      case GraphField::kDoc:
        graph_.doc = m.Text();
        break;
      case GraphField::kMetadata:
        graph_.metadata.push_back(ReadEntry(m.Sub("metadata_props")));
        break;
      default:
        break;
    }
  }
  ForEachField(message, GraphField::kInput, [&](Message& fields, std::int64_t index) {
    const Message input = fields.Sub("input", index, kValueLabel);
    NamedType info = ReadValueInfo(input);
    AddInput(input, info.name, std::move(info.type));
    ValueInfo& value = graph_.values.back();
    value.doc = std::move(info.doc);
    value.metadata = std::move(info.metadata);
    value.dim_denotations = std::move(info.dim_denotations);
    value.dim_params = std::move(info.dim_params);
  });
}

void GraphReader::AddInput(const Message& message, const std::string& name, Type type) {
  if (name.empty()) message.Fail(Code::kInvalidGraph, "expected an input with a name, found none");
  if (graph_.Find(name)) message.Fail(Code::kInvalidGraph, "expected each input once, found '", name, "' twice");
  graph_.AddInput(name, std::move(type));
}

void GraphReader::ReadInitializers(const Message& message) {
  ForEachField(message, GraphField::kInitializer, [&](Message& fields, std::int64_t index) {
    const Message tensor = fields.Sub("initializer", index, kTensorLabel);
    AddInitializer(ReadTensor(tensor, context_), tensor);
  });
  ForEachField(message, GraphField::kSparseInitializer, [&](Message& fields, std::int64_t index) {
    const Message tensor = fields.Sub("sparse_initializer", index);
    NamedSparse sparse = ReadSparseTensor(tensor, context_);
    NamedInitializer initializer;
    initializer.name = std::move(sparse.name);
    initializer.data.tensor = tensor.InContext([&] { return Densify(sparse.tensor); });
    initializer.data.sparse = std::move(sparse.tensor);
    AddInitializer(std::move(initializer), tensor);
  });
  std::erase_if(graph_.inputs, [&](ValueId id) { return !graph_.value(id).is_input; });
}

void GraphReader::AddInitializer(NamedInitializer&& initializer, const Message& message) {
  if (initializer.name.empty()) message.Fail(Code::kInvalidGraph, "expected an initializer with a name, found none");
  const Tensor& tensor = initializer.data.tensor;
  const std::optional<ValueId> known = graph_.Find(initializer.name);
  const ValueId id =
      known ? *known : graph_.AddValue(initializer.name, Type::TensorOf(tensor.dtype(), Dims(tensor.shape())));
  ValueInfo& value = graph_.value(id);
  if (value.initializer && context_.options.logger)
    context_.options.logger->Warn(message.source().name, ": initializer '", initializer.name,
                                  "' appears twice; the last one is used");
  if (value.type.is_tensor() && value.type.dtype != tensor.dtype())
    message.Fail(Code::kInvalidGraph, "expected elements of type ", Name(value.type.dtype),
                 ", as the input of this name declares, found ", Name(tensor.dtype()));
  // Up to IR version 3 every initializer had to be listed as an input, too; it is a constant all the same.
  if (value.is_input && context_.ir_version < 4 && outer_ == nullptr) {
    value.is_input = false;
  }
  initializer.data.kind = value.is_input ? Initializer::Kind::kInputDefault : Initializer::Kind::kConstant;
  if (value.type.is_none()) value.type = Type::TensorOf(tensor.dtype(), Dims(tensor.shape()));
  if (!initializer.doc.empty()) value.doc = std::move(initializer.doc);
  if (!initializer.metadata.empty()) value.metadata = std::move(initializer.metadata);
  graph_.SetInitializer(id, std::make_shared<const Initializer>(std::move(initializer.data)));
}

// Makes the values that nodes will produce, so that a node may read what a later one makes.
void GraphReader::AddNodeOutputs(const Message& message, std::uint32_t node_field) {
  ForEachField(message, node_field, [&](Message& fields, std::int64_t index) {
    Message node = fields.Sub("node", index, kNodeLabel);
    while (node.Next()) {
      if (node.tag() != NodeField::kOutput) continue;
      const std::string name = node.Name();
      if (name.empty()) continue;
      if (graph_.Find(name))
        node.Fail(Code::kFail, "expected outputs that nothing else in the graph defines, found '", name,
                  "', which is defined already");
      graph_.AddValue(name);
    }
  });
}

void GraphReader::ReadTypes(const Message& message, std::uint32_t value_info_field) {
  ForEachField(message, value_info_field, [&](Message& fields, std::int64_t index) {
    NamedType info = ReadValueInfo(fields.Sub("value_info", index, kValueLabel));
    const std::optional<ValueId> id = graph_.Find(info.name);
    if (!id) return;  // a value that is gone, or one of an outer graph
    ValueInfo& value = graph_.value(*id);
    if (value.type.is_none()) value.type = std::move(info.type);
    if (value.doc.empty()) value.doc = std::move(info.doc);
    if (value.metadata.empty()) value.metadata = std::move(info.metadata);
    if (value.dim_denotations.empty()) value.dim_denotations = std::move(info.dim_denotations);
  });
}

void GraphReader::ReadOutputs(const Message& message) {
  ForEachField(message, GraphField::kOutput, [&](Message& fields, std::int64_t index) {
    const Message output = fields.Sub("output", index, kValueLabel);
    NamedType info = ReadValueInfo(output);
    AddOutput(output, info.name);
    ValueInfo& value = graph_.value(graph_.outputs.back());
    const bool declared_elsewhere = value.is_input || value.initializer;
    if (!info.type.is_none() && (value.type.is_none() || !declared_elsewhere)) value.type = std::move(info.type);
    if (!info.doc.empty()) value.doc = std::move(info.doc);
    if (!info.metadata.empty()) value.metadata = std::move(info.metadata);
    if (!info.dim_denotations.empty()) value.dim_denotations = std::move(info.dim_denotations);
    if (!info.dim_params.empty()) value.dim_params = std::move(info.dim_params);
  });
}

void GraphReader::AddOutput(const Message& message, const std::string& name) {
  if (name.empty()) message.Fail(Code::kInvalidGraph, "expected an output with a name, found none");
  graph_.AddOutput(Resolve(name, message, Code::kFail));
}

void GraphReader::ReadNodes(const Message& message, std::uint32_t node_field) {
  ForEachField(message, node_field, [&](Message& fields, std::int64_t index) {
    const Message node = fields.Sub("node", index, kNodeLabel);
    CheckTime();
    Node read = ReadNode(node);
    node.InContext([&] { graph_.AddNode(std::move(read)); });
  });
}

Node GraphReader::ReadNode(Message m) {
  Node node;
  std::int64_t attribute_count = 0;
  std::unordered_set<std::string> attribute_names;
  while (m.Next()) {
    switch (m.tag()) {
      case NodeField::kInput: {
        const std::string name = m.Name();
        node.inputs.push_back(name.empty() ? kNoValue : Resolve(name, m));
        break;
      }
      case NodeField::kOutput: {
        const std::string name = m.Name();
        node.outputs.push_back(name.empty() ? kNoValue : *graph_.Find(name));
        break;
      }
      case NodeField::kName:
        node.name = m.Name();
        break;
      case NodeField::kOpType:
        node.op_type = m.Name();
        break;
      case NodeField::kDomain:
        node.domain = StandardDomain(m.Name());
        break;
      case NodeField::kOverload:
        node.overload = m.Name();
        break;
      case NodeField::kDoc:
        node.doc = m.Text();
        break;
      case NodeField::kMetadata:
        node.metadata.push_back(ReadEntry(m.Sub("metadata_props")));
        break;
      case NodeField::kAttribute: {
        Attribute attribute = ReadAttribute(m.Sub("attribute", attribute_count++, {AttributeField::kName}));
        if (!attribute_names.insert(attribute.name).second)
          m.Fail(Code::kInvalidGraph, "expected each attribute once, found '", attribute.name, "' twice");
        node.attributes.push_back(std::move(attribute));
        break;
      }
      default:
        break;
    }
  }
  if (node.op_type.empty()) m.Fail(Code::kInvalidGraph, "expected a node with an op_type, found none");
  return node;
}

ValueId GraphReader::Resolve(const std::string& name, const Message& message, Code undefined) {
  if (const std::optional<ValueId> id = graph_.Find(name)) return *id;
  const ValueInfo* outer = FindOuter(name);
  if (outer == nullptr) FailUndefined(name, message, undefined);
  const ValueId id = graph_.AddCaptured(name);
  graph_.value(id).type = outer->type;
  return id;
}

const ValueInfo* GraphReader::FindOuter(const std::string& name) const {
  for (const GraphReader* reader = outer_; reader != nullptr; reader = reader->outer_)
    if (const std::optional<ValueId> id = reader->graph_.Find(name)) return &reader->graph_.value(*id);
  return nullptr;
}

void GraphReader::FailUndefined(const std::string& name, const Message& message, Code code) const {
  std::vector<std::string> names;
  for (const GraphReader* reader = this; reader != nullptr; reader = reader->outer_)
    for (const ValueInfo& value : reader->graph_.values) names.push_back(value.name);
  const std::string closest = ClosestName(name, names);
  message.Fail(code, "expected '", name,
               "' to be an input, an initializer or an output of a node, found nothing with this name",
               closest.empty() ? "" : "; did you mean '" + closest + "'?");
}

Function GraphReader::ReadFunction(const Message& message) {
  Function function;
  std::vector<OpsetImport> imports;
  std::vector<std::string> outputs;
  std::int64_t attribute_count = 0;
  for (Message m = message; m.Next();) {
    switch (m.tag()) {
      case FunctionField::kName:
        function.name = m.Name();
        break;
      case FunctionField::kDomain:
        function.domain = StandardDomain(m.Name());
        break;
      case FunctionField::kOverload:
        function.overload = m.Name();
        break;
      case FunctionField::kDoc:
        function.doc = m.Text();
        break;
      case FunctionField::kMetadata:
        function.metadata.push_back(ReadEntry(m.Sub("metadata_props")));
        break;
      case FunctionField::kInput:
        AddInput(m, m.Name(), {});
        break;
      case FunctionField::kOutput:
        outputs.push_back(m.Name());
        break;
      case FunctionField::kAttribute:
        function.attributes.push_back(m.Name());
        break;
      case FunctionField::kAttributeProto:
        function.attribute_defaults.push_back(
            ReadAttribute(m.Sub("attribute_proto", attribute_count++, {AttributeField::kName})));
        break;
      case FunctionField::kOpsetImport:
        AddOpsetImport(imports, ReadOpsetImport(m.Sub("opset_import")), m);
        break;
      default:
        break;
    }
  }
  if (function.name.empty()) message.Fail(Code::kInvalidGraph, "expected a function with a name, found none");
  graph_.name = function.name;
  graph_.opset_imports = imports.empty() ? context_.opset_imports : imports;
  std::swap(context_.opset_imports, graph_.opset_imports);  // its subgraphs get them, too
  AddNodeOutputs(message, FunctionField::kNode);
  ReadTypes(message, FunctionField::kValueInfo);
  ReadNodes(message, FunctionField::kNode);
  for (const std::string& name : outputs) AddOutput(message, name);
  std::swap(context_.opset_imports, graph_.opset_imports);
  message.InContext([&] { graph_.SortTopologically(); });
  function.body = std::move(graph_);
  return function;
}

}  // namespace sardonyx::model
