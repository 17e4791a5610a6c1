// model/ort_writer.cpp - builds the tables of an .ort file.
#include "model/ort_writer.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "model/onnx_fields.h"
#include "ort_format_generated.h"

namespace sardonyx::model {
namespace {

namespace file = ort_file;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

constexpr const char* kVersion = "6";  // of the format; ONNX Runtime 1.20 and later write it

template <typename T>
using Offsets = std::vector<Offset<T>>;

class OrtWriter {
 public:
  OrtWriter(const OrtOperators& operators, FunctionRef<OrtNodeFacts(const Graph&, const Node&)> facts_of)
      : operators_(operators), facts_of_(facts_of) {}

  std::string Write(const Model& model) {
    Offsets<file::OpsetImport> imports;
    for (const OpsetImport& import : model.opset_imports)
      imports.push_back(file::CreateOpsetImport(builder_, Text(import.domain), import.version));
    Offsets<file::Entry> metadata;
    for (const auto& [key, value] : model.metadata)
      metadata.push_back(file::CreateEntry(builder_, Text(key), Text(value)));
    const auto graph = WriteGraph(model.graph);
    const auto whole =
        file::CreateModel(builder_, model.ir_version, builder_.CreateVector(imports), Text(model.producer_name),
                          Text(model.producer_version), Text(model.domain), model.model_version, Text(model.doc), graph,
                          Text(model.graph.doc), builder_.CreateVector(metadata));
    const auto operators = WriteOperators();
    file::FinishSessionBuffer(builder_, file::CreateSession(builder_, Text(kVersion), whole, operators));
    const void* bytes = builder_.GetBufferPointer();
    return {static_cast<const char*>(bytes), builder_.GetSize()};
  }

 private:
  Offset<flatbuffers::String> Text(std::string_view text) {
    return builder_.CreateSharedString(text.data(), text.size());
  }

  // The builder asserts beyond 2 GB; a mebibyte is left for the tables that follow.
  void CheckRoom(std::size_t more) const {
    constexpr std::size_t kMost = FLATBUFFERS_MAX_BUFFER_SIZE - (std::size_t{1} << 20);
    if (more > kMost || builder_.GetSize() > kMost - more)
      Fail(Code::kInvalidArgument, "expected a model of less than 2 GB for ONNX Runtime's format, found more than ",
           more > kMost ? more : builder_.GetSize() + more, " bytes; save it as ONNX, with external data");
  }

  template <typename Texts>
  Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> WriteTexts(const Texts& texts) {
    Offsets<flatbuffers::String> offsets;
    for (const auto& text : texts) {
      CheckRoom(text.size());
      offsets.push_back(Text(text));
    }
    return builder_.CreateVector(offsets);
  }

  static std::vector<std::string> NamesOf(const Graph& graph, const std::vector<ValueId>& values) {
    std::vector<std::string> names;
    for (const ValueId id : values) names.push_back(id == kNoValue ? "" : graph.value(id).name);
    return names;
  }

  Offset<file::Tensor> WriteTensor(const Tensor& tensor, std::string_view name, std::string_view doc = {}) {
    if (!tensor.device().IsHost())
      Fail(Code::kInvalidArgument, "tensor '", name, "': expected one in host memory, found one on a device");
    const Dims dims(tensor.shape());
    const auto sizes = builder_.CreateVector(dims.data(), dims.size());
    Offset<flatbuffers::Vector<std::uint8_t>> bytes;
    Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> strings;
    if (IsString(tensor.dtype())) {
      strings = WriteTexts(tensor.span<std::string>());
    } else {
      CheckRoom(tensor.byte_size());
      builder_.ForceVectorAlignment(tensor.byte_size(), sizeof(std::uint8_t), 16);
      bytes = builder_.CreateVector(static_cast<const std::uint8_t*>(tensor.raw()), tensor.byte_size());
    }
    const auto title = Text(name), notes = Text(doc);
    return file::CreateTensor(builder_, title, notes, sizes, static_cast<std::int32_t>(tensor.dtype()), bytes, strings);
  }

  Offset<file::Shape> WriteShape(const Type& type, const ValueInfo& value) {
    const auto text_at = [](const std::vector<std::string>& texts, std::size_t i) {
      return i < texts.size() ? texts[i] : std::string();
    };
    Offsets<file::Dim> dims;
    for (std::size_t i = 0; i < type.dims.size(); ++i) {
      const Dim& dim = type.dims[i];
      std::string name;
      if (!dim.known() && (value.is_input || value.is_output)) name = text_at(value.dim_params, i);
      if (name.empty() && dim.symbolic()) name = dim.ToText();
      const auto kind = dim.known()    ? file::DimKind::kNumber
                        : name.empty() ? file::DimKind::kUnknown
                                       : file::DimKind::kName;
      const auto text = Text(name), denotation = Text(text_at(value.dim_denotations, i));
      const auto number = file::CreateDimValue(builder_, kind, dim.known() ? dim.number() : 0, text);
      dims.push_back(file::CreateDim(builder_, number, denotation));
    }
    return file::CreateShape(builder_, builder_.CreateVector(dims));
  }

  Offset<file::Type> WriteType(const Type& type, const ValueInfo& value) {
    const auto denotation = Text(type.denotation);
    switch (type.kind) {
      case TypeKind::kTensor: {
        const Offset<file::Shape> shape = type.has_rank ? WriteShape(type, value) : Offset<file::Shape>();
        const auto tensor = file::CreateTensorType(builder_, static_cast<std::int32_t>(type.dtype), shape);
        return file::CreateType(builder_, denotation, file::TypeValue::tensor, tensor.Union());
      }
      case TypeKind::kSequence: {
        const auto sequence = file::CreateSequenceType(builder_, WriteType(*type.element, {}));
        return file::CreateType(builder_, denotation, file::TypeValue::sequence, sequence.Union());
      }
      case TypeKind::kMap: {
        const auto element = WriteType(*type.element, {});
        const auto map = file::CreateMapType(builder_, static_cast<std::int32_t>(type.dtype), element);
        return file::CreateType(builder_, denotation, file::TypeValue::map, map.Union());
      }
      default:
        Fail(Code::kNotImplemented, "value '", value.name, "': expected a tensor, a sequence or a map, found ",
             type.is_none() ? "no type" : type.ToText(), ", which ONNX Runtime's format does not have");
    }
  }

  Offset<file::Value> WriteValue(const ValueInfo& value) {
    const auto name = Text(value.name), doc = Text(value.doc);
    return file::CreateValue(builder_, name, doc, WriteType(value.type, value));
  }

  Offset<file::Attribute> WriteAttribute(const Node& node, const Attribute& attribute) {
    const AttributeValue& value = attribute.value;
    const int type = AttributeTypeOf(value);
    Offset<flatbuffers::String> text;
    Offset<file::Tensor> tensor;
    Offset<file::Graph> graph;
    Offset<flatbuffers::Vector<float>> floats;
    Offset<flatbuffers::Vector<std::int64_t>> ints;
    Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> strings;
    Offset<flatbuffers::Vector<Offset<file::Tensor>>> tensors;
    Offset<flatbuffers::Vector<Offset<file::Graph>>> graphs;
    if (const auto* s = std::get_if<std::string>(&value)) {
      text = Text(*s);
    } else if (const auto* t = std::get_if<Tensor>(&value)) {
      tensor = WriteTensor(*t, "");
    } else if (const auto* g = std::get_if<GraphBox>(&value)) {
      graph = WriteGraph(**g);
    } else if (const auto* many_floats = std::get_if<std::vector<float>>(&value)) {
      floats = builder_.CreateVector(*many_floats);
    } else if (const auto* many_ints = std::get_if<std::vector<std::int64_t>>(&value)) {
      ints = builder_.CreateVector(*many_ints);
    } else if (const auto* many_strings = std::get_if<std::vector<std::string>>(&value)) {
      strings = WriteTexts(*many_strings);
    } else if (const auto* many_tensors = std::get_if<std::vector<Tensor>>(&value)) {
      Offsets<file::Tensor> offsets;
      for (const Tensor& one : *many_tensors) offsets.push_back(WriteTensor(one, ""));
      tensors = builder_.CreateVector(offsets);
    } else if (const auto* many_graphs = std::get_if<std::vector<GraphBox>>(&value)) {
      Offsets<file::Graph> offsets;
      for (const GraphBox& one : *many_graphs) offsets.push_back(WriteGraph(*one));
      graphs = builder_.CreateVector(offsets);
    } else if (type != kAttrFloat && type != kAttrInt) {
      Fail(Code::kNotImplemented, "node '", node.name, "' (", node.op_type, "): attribute '", attribute.name,
           "' is of type ", AttributeTypeName(type), ", which ONNX Runtime's format does not have");
    }
    const auto name = Text(attribute.name), doc = Text("");
    file::AttributeBuilder one(builder_);
    one.add_name(name);
    one.add_doc(doc);
    one.add_type(type);
    if (const auto* f = std::get_if<float>(&value)) one.add_f(*f);
    if (const auto* i = std::get_if<std::int64_t>(&value)) one.add_i(*i);
    if (!text.IsNull()) one.add_s(text);
    if (!tensor.IsNull()) one.add_t(tensor);
    if (!graph.IsNull()) one.add_g(graph);
    if (!floats.IsNull()) one.add_floats(floats);
    if (!ints.IsNull()) one.add_ints(ints);
    if (!strings.IsNull()) one.add_strings(strings);
    if (!tensors.IsNull()) one.add_tensors(tensors);
    if (!graphs.IsNull()) one.add_graphs(graphs);
    return one.Finish();
  }

  Offset<file::Node> WriteNode(const Graph& graph, const Node& node, std::uint32_t index) {
    const OrtNodeFacts facts = facts_of_(graph, node);
    Offsets<file::Attribute> attributes;
    for (const Attribute& attribute : node.attributes) attributes.push_back(WriteAttribute(node, attribute));
    const auto inputs = WriteTexts(NamesOf(graph, node.inputs)), outputs = WriteTexts(NamesOf(graph, node.outputs)),
               implicit = WriteTexts(NamesOf(graph, ImplicitInputs(node)));
    const auto all = builder_.CreateVector(attributes);
    const auto counts = builder_.CreateVector(facts.input_counts);
    const auto name = Text(node.name), doc = Text(node.doc), domain = Text(node.domain), op_type = Text(node.op_type),
               provider = Text("");
    return file::CreateNode(builder_, name, doc, domain, facts.since_version, index, op_type, 0, provider, inputs,
                            outputs, all, counts, implicit);
  }

  // Each value once, however many bodies capture it.
  static std::vector<ValueId> ImplicitInputs(const Node& node) {
    std::vector<ValueId> inputs;
    for (const ValueId id : node.implicit_inputs)
      if (std::find(inputs.begin(), inputs.end(), id) == inputs.end()) inputs.push_back(id);
    return inputs;
  }

  // Edges within the graph; what bodies read comes behind the node's own inputs.
  Offset<flatbuffers::Vector<Offset<file::NodeEdges>>> WriteEdges(const Graph& graph,
                                                                  const std::map<NodeId, std::uint32_t>& index_of) {
    std::map<NodeId, std::vector<file::EdgeEnd>> in, out;
    for (const NodeId id : graph.order) {
      const Node& node = graph.node(id);
      std::vector<ValueId> read = node.inputs;
      const std::vector<ValueId> implicit = ImplicitInputs(node);
      read.insert(read.end(), implicit.begin(), implicit.end());
      for (std::size_t input = 0; input < read.size(); ++input) {
        const NodeId from = read[input] == kNoValue ? kNoNode : graph.value(read[input]).producer;
        if (from == kNoNode) continue;
        const std::vector<ValueId>& made = graph.node(from).outputs;
        const auto output = static_cast<std::int32_t>(std::find(made.begin(), made.end(), read[input]) - made.begin());
        in[id].emplace_back(index_of.at(from), output, static_cast<std::int32_t>(input));
        out[from].emplace_back(index_of.at(id), output, static_cast<std::int32_t>(input));
      }
    }
    Offsets<file::NodeEdges> edges;
    for (const NodeId id : graph.order) {
      const auto inputs = builder_.CreateVectorOfStructs(in[id]), outputs = builder_.CreateVectorOfStructs(out[id]);
      edges.push_back(file::CreateNodeEdges(builder_, index_of.at(id), inputs, outputs));
    }
    return builder_.CreateVector(edges);
  }

  // Values that something names, and all initializers; a missing optional input counts, as the value "".
  Offset<flatbuffers::Vector<Offset<file::Value>>> WriteValues(const Graph& graph) {
    std::set<ValueId> used(graph.inputs.begin(), graph.inputs.end());
    used.insert(graph.outputs.begin(), graph.outputs.end());
    for (ValueId id = 0; id < graph.values.size(); ++id)
      if (graph.value(id).initializer && !graph.value(id).is_captured) used.insert(id);
    for (const NodeId id : graph.order) {
      const Node& node = graph.node(id);
      for (const auto* list : {&node.inputs, &node.outputs, &node.implicit_inputs})
        used.insert(list->begin(), list->end());
    }
    Offsets<file::Value> values;
    for (const ValueId id : used) {
      if (id == kNoValue) {
        const auto name = Text(""), doc = Text("");
        values.push_back(file::CreateValue(builder_, name, doc));
      } else {
        values.push_back(WriteValue(graph.value(id)));
      }
    }
    return builder_.CreateVector(values);
  }

  Offset<file::Graph> WriteGraph(const Graph& graph) {
    Offsets<file::Tensor> weights;
    for (const ValueInfo& value : graph.values)
      if (value.initializer && !value.is_captured)
        weights.push_back(WriteTensor(value.initializer->tensor, value.name, value.doc));
    std::map<NodeId, std::uint32_t> index_of;
    Offsets<file::Node> nodes;
    for (const NodeId id : graph.order) {
      const auto index = static_cast<std::uint32_t>(index_of.size());
      index_of.emplace(id, index);
      nodes.push_back(WriteNode(graph, graph.node(id), index));
    }
    const auto initializers = builder_.CreateVector(weights);
    const auto values = WriteValues(graph);
    const auto all = builder_.CreateVector(nodes);
    const auto edges = WriteEdges(graph, index_of);
    const auto inputs = WriteTexts(NamesOf(graph, graph.inputs)), outputs = WriteTexts(NamesOf(graph, graph.outputs));
    return file::CreateGraph(builder_, initializers, values, all, static_cast<std::uint32_t>(index_of.size()), edges,
                             inputs, outputs);
  }

  Offset<file::Operators> WriteOperators() {
    Offsets<file::Operator> operators;
    for (const auto& [id, names] : operators_) {
      Offsets<file::TypeName> types;
      for (const auto& [name, arguments] : names) {
        Offsets<file::TypeArgument> all;
        for (const OrtTypeArgument& argument : arguments)
          all.push_back(file::CreateTypeArgument(builder_, argument.is_output ? 1 : 0, argument.index));
        const auto text = Text(name);
        types.push_back(file::CreateTypeName(builder_, text, builder_.CreateVector(all)));
      }
      const auto text = Text(id);
      operators.push_back(file::CreateOperator(builder_, text, builder_.CreateVectorOfSortedTables(&types)));
    }
    return file::CreateOperators(builder_, builder_.CreateVectorOfSortedTables(&operators));
  }

  FlatBufferBuilder builder_;
  const OrtOperators& operators_;
  FunctionRef<OrtNodeFacts(const Graph&, const Node&)> facts_of_;
};

}  // namespace

std::string SaveOrtBytes(const Model& model, const OrtOperators& operators,
                         FunctionRef<OrtNodeFacts(const Graph&, const Node&)> facts_of) {
  return OrtWriter(operators, facts_of).Write(model);
}

}  // namespace sardonyx::model
