// model/ort_format.cpp - writes the tables of an .ort file as the messages of ONNX.
#include "model/ort_format.h"

#include <charconv>
#include <map>
#include <protozero/pbf_writer.hpp>

#include "model/flat_buffer.h"
#include "model/onnx_fields.h"

namespace sardonyx::model {
namespace {

using Writer = protozero::pbf_writer;

// The fields of the tables, in the order of ONNX Runtime's schema.
struct SessionTable {
  enum : std::size_t { kOrtVersion, kModel };
};
struct ModelTable {
  enum : std::size_t {
    kIrVersion,
    kOpsetImport,
    kProducerName,
    kProducerVersion,
    kDomain,
    kModelVersion,
    kDoc,
    kGraph,
    kGraphDoc,
    kMetadata
  };
};
struct GraphTable {
  enum : std::size_t { kInitializers, kValues, kNodes, kMaxNodeIndex, kEdges, kInputs, kOutputs, kSparseInitializers };
};
struct NodeTable {
  enum : std::size_t {
    kName,
    kDoc,
    kDomain,
    kSinceVersion,
    kIndex,
    kOpType,
    kType,
    kProvider,
    kInputs,
    kOutputs,
    kAttributes
  };
};
struct AttributeTable {
  enum : std::size_t { kName, kDoc, kType, kF, kI, kS, kT, kG, kFloats, kInts, kStrings, kTensors, kGraphs };
};
struct TensorTable {
  enum : std::size_t { kName, kDoc, kDims, kDataType, kRawData, kStringData, kExternalOffset };
};
struct SparseTable {
  enum : std::size_t { kValues, kIndices, kDims };
};
struct ValueTable {
  enum : std::size_t { kName, kDoc, kType };
};
struct TypeTable {
  enum : std::size_t { kDenotation, kKind, kValue };
  enum : std::uint8_t { kTensor = 1, kSequence, kMap };
};

class Translator {
 public:
  explicit Translator(FlatBuffer& buffer) : buffer_(buffer) {}

  std::string Model() {
    const FlatTable session(buffer_, buffer_.Follow(0), 0);
    CheckVersion(session.Text(SessionTable::kOrtVersion));
    const FlatTable model = session.Table(SessionTable::kModel);
    if (!model) buffer_.Fail(Code::kFail, "expected a model in the .ort file, found none");
    std::string bytes;
    Writer to(bytes);
    to.add_int64(ModelField::kIrVersion, model.Number<std::int64_t>(ModelTable::kIrVersion));
    Text(to, ModelField::kProducerName, model.Text(ModelTable::kProducerName));
    Text(to, ModelField::kProducerVersion, model.Text(ModelTable::kProducerVersion));
    Text(to, ModelField::kDomain, model.Text(ModelTable::kDomain));
    to.add_int64(ModelField::kModelVersion, model.Number<std::int64_t>(ModelTable::kModelVersion));
    Text(to, ModelField::kDoc, model.Text(ModelTable::kDoc));
    model.ForEachTable(ModelTable::kOpsetImport, [&](const FlatTable& import) {
      Writer one(to, ModelField::kOpsetImport);
      Text(one, 1, import.Text(0));
      one.add_int64(2, import.Number<std::int64_t>(1));
    });
    model.ForEachTable(ModelTable::kMetadata, [&](const FlatTable& entry) {
      Writer one(to, ModelField::kMetadata);
      Text(one, 1, entry.Text(0));
      Text(one, 2, entry.Text(1));
    });
    const FlatTable graph = model.Table(ModelTable::kGraph);
    if (!graph) buffer_.Fail(Code::kFail, "expected a graph in the .ort file, found none");
    Graph(Writer(to, ModelField::kGraph), graph, model.Text(ModelTable::kGraphDoc));
    return bytes;
  }

 private:
  // Older versions differ in what they say of kernels, which is not read. Later ones may differ in anything.
  void CheckVersion(std::string_view version) {
    constexpr int kNewest = 6;
    int number = 0;
    const auto [end, error] = std::from_chars(version.data(), version.data() + version.size(), number);
    if (error == std::errc() && end == version.data() + version.size() && number > kNewest)
      buffer_.Fail(Code::kFail, "expected version ", kNewest, " of the .ort format or an older one, found ", number);
  }

  static void Text(Writer& to, std::uint32_t tag, std::string_view text) {
    to.add_string(tag, text.data(), text.size());
  }

  static void WriteText(Writer& to, std::uint32_t tag, std::string_view text) {
    if (!text.empty()) Text(to, tag, text);
  }

  void Graph(Writer to, const FlatTable& graph, std::string_view doc) {
    graph.ForEachTable(GraphTable::kNodes, [&](const FlatTable& node) { Node(Writer(to, GraphField::kNode), node); });
    to.add_string(GraphField::kName, "graph");  // .ort files have no name for it
    graph.ForEachTable(GraphTable::kInitializers,
                       [&](const FlatTable& tensor) { Tensor(Writer(to, GraphField::kInitializer), tensor); });
    graph.ForEachTable(GraphTable::kSparseInitializers, [&](const FlatTable& sparse) {
      Writer one(to, GraphField::kSparseInitializer);
      if (const FlatTable values = sparse.Table(SparseTable::kValues))
        Tensor(Writer(one, SparseTensorField::kValues), values);
      if (const FlatTable indices = sparse.Table(SparseTable::kIndices))
        Tensor(Writer(one, SparseTensorField::kIndices), indices);
      sparse.ForEachNumber<std::int64_t>(SparseTable::kDims,
                                         [&](std::int64_t dim) { one.add_int64(SparseTensorField::kDims, dim); });
    });
    WriteText(to, GraphField::kDoc, doc);
    // Inputs and outputs are names there; their types stand in one list with those of all values.
    std::map<std::string_view, FlatTable> values;
    graph.ForEachTable(GraphTable::kValues,
                       [&](const FlatTable& value) { values.emplace(value.Text(ValueTable::kName), value); });
    const auto write = [&](std::uint32_t tag, std::size_t field) {
      graph.ForEachText(field, [&](std::string_view name) {
        Writer one(to, tag);
        Text(one, ValueInfoField::kName, name);
        const auto found = values.find(name);
        if (found == values.end()) return;
        if (const FlatTable type = found->second.Table(ValueTable::kType))
          Type(Writer(one, ValueInfoField::kType), type);
        WriteText(one, ValueInfoField::kDoc, found->second.Text(ValueTable::kDoc));
      });
    };
    write(GraphField::kInput, GraphTable::kInputs);
    write(GraphField::kOutput, GraphTable::kOutputs);
  }

  void Type(Writer to, const FlatTable& type) {
    WriteText(to, TypeField::kDenotation, type.Text(TypeTable::kDenotation));
    const auto kind = type.Number<std::uint8_t>(TypeTable::kKind);
    const FlatTable value = type.Table(TypeTable::kValue);
    if (kind == TypeTable::kTensor) {
      Writer tensor(to, TypeField::kTensor);
      tensor.add_int64(TypeField::kElemType, value.Number<std::int32_t>(0));
      if (const FlatTable shape = value.Table(1)) tensor.add_message(TypeField::kShape, Shape(shape));
    } else if (kind == TypeTable::kSequence) {
      Writer sequence(to, TypeField::kSequence);
      if (const FlatTable element = value.Table(0)) Type(Writer(sequence, TypeField::kElemType), element);
    } else if (kind == TypeTable::kMap) {
      Writer map(to, TypeField::kMap);
      map.add_int64(TypeField::kKeyType, value.Number<std::int32_t>(0));
      if (const FlatTable element = value.Table(1)) Type(Writer(map, TypeField::kValueType), element);
    }
  }

  // A shape of a scalar and a dimension of which nothing is known are messages without a field, which a nested writer
  // would leave out.
  static std::string Shape(const FlatTable& shape) {
    constexpr std::int8_t kNumber = 1, kName = 2;
    std::string bytes;
    Writer to(bytes);
    shape.ForEachTable(0, [&](const FlatTable& dimension) {
      std::string one;
      Writer field(one);
      const FlatTable value = dimension.Table(0);
      const auto kind = value.Number<std::int8_t>(0);
      if (kind == kNumber) field.add_int64(TypeField::kDimValue, value.Number<std::int64_t>(1));
      if (kind == kName) Text(field, TypeField::kDimParam, value.Text(2));
      WriteText(field, TypeField::kDimDenotation, dimension.Text(1));
      to.add_message(TypeField::kDim, one);
    });
    return bytes;
  }

  void Node(Writer to, const FlatTable& node) {
    if (node.Number<std::int32_t>(NodeTable::kType) != 0)
      buffer_.Fail(Code::kNotImplemented, "node '", node.Text(NodeTable::kName),
                   "': expected an operator, found a node that a provider of ONNX Runtime has compiled");
    node.ForEachText(NodeTable::kInputs, [&](std::string_view name) { Text(to, NodeField::kInput, name); });
    node.ForEachText(NodeTable::kOutputs, [&](std::string_view name) { Text(to, NodeField::kOutput, name); });
    WriteText(to, NodeField::kName, node.Text(NodeTable::kName));
    Text(to, NodeField::kOpType, node.Text(NodeTable::kOpType));
    WriteText(to, NodeField::kDoc, node.Text(NodeTable::kDoc));
    WriteText(to, NodeField::kDomain, node.Text(NodeTable::kDomain));
    node.ForEachTable(NodeTable::kAttributes,
                      [&](const FlatTable& attribute) { Attribute(Writer(to, NodeField::kAttribute), attribute); });
  }

  void Attribute(Writer to, const FlatTable& from) {
    Text(to, AttributeField::kName, from.Text(AttributeTable::kName));
    const auto type = from.Number<std::int32_t>(AttributeTable::kType);
    to.add_int64(AttributeField::kType, type);
    if (type == kAttrFloat) to.add_float(AttributeField::kF, from.Number<float>(AttributeTable::kF));
    if (type == kAttrInt) to.add_int64(AttributeField::kI, from.Number<std::int64_t>(AttributeTable::kI));
    if (type == kAttrString) Text(to, AttributeField::kS, from.Text(AttributeTable::kS));
    const auto tensor = [&](std::uint32_t tag, const FlatTable& one) { Tensor(Writer(to, tag), one); };
    const auto graph = [&](std::uint32_t tag, const FlatTable& one) { Graph(Writer(to, tag), one, {}); };
    if (const FlatTable one = from.Table(AttributeTable::kT)) tensor(AttributeField::kT, one);
    if (const FlatTable one = from.Table(AttributeTable::kG)) graph(AttributeField::kG, one);
    from.ForEachNumber<float>(AttributeTable::kFloats, [&](float f) { to.add_float(AttributeField::kFloats, f); });
    from.ForEachNumber<std::int64_t>(AttributeTable::kInts,
                                     [&](std::int64_t i) { to.add_int64(AttributeField::kInts, i); });
    from.ForEachText(AttributeTable::kStrings, [&](std::string_view s) { Text(to, AttributeField::kStrings, s); });
    from.ForEachTable(AttributeTable::kTensors, [&](const FlatTable& one) { tensor(AttributeField::kTensors, one); });
    from.ForEachTable(AttributeTable::kGraphs, [&](const FlatTable& one) { graph(AttributeField::kGraphs, one); });
  }

  void Tensor(Writer to, const FlatTable& tensor) {
    constexpr std::int32_t kString = 8;
    const std::string_view name = tensor.Text(TensorTable::kName);
    if (tensor.Number<std::int64_t>(TensorTable::kExternalOffset, -1) != -1)
      buffer_.Fail(Code::kNotImplemented, "tensor '", name,
                   "': expected its elements, found them in another file, which ", "is not implemented for .ort files");
    tensor.ForEachNumber<std::int64_t>(TensorTable::kDims,
                                       [&](std::int64_t dim) { to.add_int64(TensorField::kDims, dim); });
    const auto type = tensor.Number<std::int32_t>(TensorTable::kDataType);
    to.add_int64(TensorField::kDataType, type);
    Text(to, TensorField::kName, name);
    WriteText(to, TensorField::kDoc, tensor.Text(TensorTable::kDoc));
    if (type == kString) {
      tensor.ForEachText(TensorTable::kStringData, [&](std::string_view s) { Text(to, TensorField::kStringData, s); });
    } else {
      const std::string_view bytes = tensor.Vector(TensorTable::kRawData, 1);
      buffer_.CountText(bytes.size());
      Text(to, TensorField::kRawData, bytes);
    }
  }

  FlatBuffer& buffer_;
};

}  // namespace

bool IsOrtFormat(std::string_view bytes) {
  // A FlatBuffer begins with the offset of its root, which is small. A model may have such a text there: its producer.
  return bytes.size() >= 8 && bytes.substr(4, 4) == "ORTM" && bytes[3] == '\0';
}

std::string OnnxFromOrtFormat(std::string_view bytes, const std::string& name) {
  FlatBuffer buffer(bytes, name);
  return Translator(buffer).Model();
}

}  // namespace sardonyx::model
