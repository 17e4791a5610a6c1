// plugins/sardonyx_cpu/model_writer.cpp - writes ONNX's protobuf messages (onnx.proto) from what the host tells.
#include "model_writer.h"

#include <cstring>
#include <protozero/pbf_writer.hpp>
#include <set>

namespace sardonyx_cpu {
namespace {

using protozero::pbf_writer;

constexpr std::int64_t kIrVersion = 10;
constexpr std::size_t kSmall = 256;  // bytes of a tensor that is written into the model

// The numbers of fields in onnx.proto.
namespace field {
enum Model : std::uint32_t { kIrVersion = 1, kGraph = 7, kOpsetImport = 8 };
enum Opset : std::uint32_t { kOpsetDomain = 1, kOpsetVersion = 2 };
enum Graph : std::uint32_t { kNode = 1, kGraphName = 2, kInitializer = 5, kInput = 11, kOutput = 12 };
enum Node : std::uint32_t {
  kNodeInput = 1,
  kNodeOutput = 2,
  kNodeName = 3,
  kOpType = 4,
  kAttribute = 5,
  kNodeDomain = 7,
};
enum AttributeField : std::uint32_t {
  kAttributeName = 1,
  kF = 2,
  kI = 3,
  kS = 4,
  kT = 5,
  kG = 6,
  kFloats = 7,
  kInts = 8,
  kStrings = 9,
  kAttributeType = 20,
};
enum Tensor : std::uint32_t {
  kDims = 1,
  kDataType = 2,
  kStringData = 6,
  kTensorName = 8,
  kRawData = 9,
  kExternalData = 13,
  kDataLocation = 14,
};
enum ValueInfo : std::uint32_t { kValueName = 1, kType = 2 };
enum Type : std::uint32_t { kTensorType = 1, kElementType = 1, kShape = 2, kDim = 1, kDimValue = 1, kDimParam = 2 };
enum Entry : std::uint32_t { kKey = 1, kValue = 2 };
}  // namespace field

// ONNX's number of an element type; the C interface has the same up to float4.
std::int32_t ElementType(ONNXTensorElementDataType type, const std::string& name) {
  if (type <= ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED || type > ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1)
    throw Failure(ORT_NOT_IMPLEMENTED,
                  "value '" + name + "': element type " + std::to_string(type) + " is not known to the plug-in");
  return type;
}

class Writer {
 public:
  explicit Writer(const Apis& apis) : apis_(apis), reader_(apis) {}

  void WriteOpsets(pbf_writer& model, const std::vector<std::pair<std::string, std::int64_t>>& opsets) const {
    model.add_int64(field::kIrVersion, kIrVersion);
    for (const auto& [domain, version] : opsets) {
      pbf_writer opset(model, field::kOpsetImport);
      opset.add_string(field::kOpsetDomain, domain);
      opset.add_int64(field::kOpsetVersion, version);
    }
  }

  void WriteGraph(pbf_writer graph, const OrtGraph& from) {
    graph.add_string(field::kGraphName, "group");
    for (const OrtNode* node : reader_.Nodes(from)) WriteNode({graph, field::kNode}, *node);
    std::set<std::string> constants;
    for (const OrtValueInfo* value : reader_.Initializers(from)) {
      if (!reader_.IsConstant(*value)) continue;
      const std::string name = reader_.Name(value);
      constants.insert(name);
      WriteTensor({graph, field::kInitializer}, name, *reader_.Contents(*value), true);
    }
    for (const OrtValueInfo* value : reader_.Inputs(from))
      if (!constants.contains(reader_.Name(value))) WriteInput({graph, field::kInput}, *value);
    for (const OrtValueInfo* value : reader_.Outputs(from)) WriteOutput({graph, field::kOutput}, *value);
  }

  void WriteNode(pbf_writer node, const OrtNode& from) {
    for (const OrtValueInfo* value : reader_.Inputs(from)) node.add_string(field::kNodeInput, reader_.Name(value));
    for (const OrtValueInfo* value : reader_.Outputs(from)) node.add_string(field::kNodeOutput, reader_.Name(value));
    node.add_string(field::kNodeName, reader_.Name(from));
    node.add_string(field::kOpType, reader_.Operator(from));
    node.add_string(field::kNodeDomain, reader_.Domain(from));
    for (const OrtOpAttr* attribute : reader_.Attributes(from))
      if (reader_.Kind(*attribute) != ORT_OP_ATTR_GRAPH) WriteAttribute({node, field::kAttribute}, *attribute);
    for (const auto& [name, body] : reader_.Subgraphs(from)) {
      pbf_writer attribute(node, field::kAttribute);
      attribute.add_string(field::kAttributeName, name);
      attribute.add_enum(field::kAttributeType, 5);
      WriteGraph({attribute, field::kG}, *body);
    }
  }

  void WriteInput(pbf_writer info, const OrtValueInfo& value) const {
    const ValueFacts facts = reader_.Facts(value);
    info.add_string(field::kValueName, facts.name);
    if (!facts.is_tensor) throw Failure(ORT_NOT_IMPLEMENTED, "value '" + facts.name + "': only tensors are taken over");
    pbf_writer type(info, field::kType);
    pbf_writer tensor(type, field::kTensorType);
    tensor.add_enum(field::kElementType, ElementType(facts.element_type, facts.name));
    if (!facts.has_shape) return;
    pbf_writer shape(tensor, field::kShape);
    for (std::size_t i = 0; i < facts.dims.size(); ++i) {
      pbf_writer dim(shape, field::kDim);
      if (facts.dims[i] >= 0) {
        dim.add_int64(field::kDimValue, facts.dims[i]);
      } else {
        // Every size gets a name, so that those of the results can be told by them (Group::KnowsShapes).
        dim.add_string(field::kDimParam, !facts.symbols[i].empty()
                                             ? facts.symbols[i]
                                             : "dim" + std::to_string(i) + "_of_" + std::to_string(unnamed_++));
      }
    }
  }

  // Without a shape: what Sardonyx infers counts.
  void WriteOutput(pbf_writer info, const OrtValueInfo& value) const {
    const ValueFacts facts = reader_.Facts(value);
    info.add_string(field::kValueName, facts.name);
    if (!facts.is_tensor) return;
    pbf_writer type(info, field::kType);
    pbf_writer tensor(type, field::kTensorType);
    tensor.add_enum(field::kElementType, ElementType(facts.element_type, facts.name));
  }

  // With `may_stay_outside`, large contents are left to `weights`.
  void WriteTensor(pbf_writer tensor, const std::string& name, const OrtValue& value, bool may_stay_outside) {
    OrtTensorTypeAndShapeInfo* made = nullptr;
    apis_.Host(apis_.host->GetTensorTypeAndShape(&value, &made));
    const Handle<OrtTensorTypeAndShapeInfo> info(made, apis_.host->ReleaseTensorTypeAndShapeInfo);
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    std::size_t rank = 0;
    apis_.Host(apis_.host->GetTensorElementType(info.get(), &type));
    apis_.Host(apis_.host->GetDimensionsCount(info.get(), &rank));
    std::vector<std::int64_t> dims(rank);
    if (rank != 0) apis_.Host(apis_.host->GetDimensions(info.get(), dims.data(), rank));
    for (const std::int64_t dim : dims) tensor.add_int64(field::kDims, dim);
    tensor.add_int32(field::kDataType, ElementType(type, name));
    tensor.add_string(field::kTensorName, name);
    if (type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return WriteStrings(tensor, value, *info);
    std::size_t size = 0;
    const void* data = nullptr;
    apis_.Host(apis_.host->GetTensorSizeInBytes(&value, &size));
    apis_.Host(apis_.host->GetTensorData(&value, &data));
    if (!may_stay_outside || size <= kSmall)
      return tensor.add_bytes(field::kRawData, static_cast<const char*>(data), size);
    // The place is never opened: the session gets the contents by the initializer's name.
    const auto add_entry = [&](const char* key, const std::string& text) {
      pbf_writer entry(tensor, field::kExternalData);
      entry.add_string(field::kKey, key);
      entry.add_string(field::kValue, text);
    };
    add_entry("location", "host");
    add_entry("length", std::to_string(size));
    tensor.add_enum(field::kDataLocation, 1);
    weights_.emplace_back(name, &value);
  }

  std::vector<std::pair<std::string, const OrtValue*>> TakeWeights() { return std::move(weights_); }

 private:
  void WriteStrings(pbf_writer& tensor, const OrtValue& value, const OrtTensorTypeAndShapeInfo& info) const {
    std::size_t count = 0;
    apis_.Host(apis_.host->GetTensorShapeElementCount(&info, &count));
    for (std::size_t i = 0; i < count; ++i) {
      std::size_t length = 0;
      apis_.Host(apis_.host->GetStringTensorElementLength(&value, i, &length));
      std::string text(length, '\0');
      if (length != 0) apis_.Host(apis_.host->GetStringTensorElement(&value, length, i, text.data()));
      tensor.add_bytes(field::kStringData, text);
    }
  }

  void WriteAttribute(pbf_writer attribute, const OrtOpAttr& from) {
    const std::string name = reader_.Name(from);
    attribute.add_string(field::kAttributeName, name);
    const OrtOpAttrType kind = reader_.Kind(from);
    if (kind == ORT_OP_ATTR_TENSOR) {
      attribute.add_enum(field::kAttributeType, 4);
      return WriteTensor({attribute, field::kT}, "", *reader_.TensorOf(from), false);
    }
    const std::vector<char> bytes = reader_.Bytes(from);
    const auto numbers = [&]<typename T>(T) {
      std::vector<T> list(bytes.size() / sizeof(T));
      if (!list.empty()) std::memcpy(list.data(), bytes.data(), list.size() * sizeof(T));
      return list;
    };
    switch (kind) {
      case ORT_OP_ATTR_FLOAT:
        attribute.add_enum(field::kAttributeType, 1);
        return attribute.add_float(field::kF, numbers(float{}).at(0));
      case ORT_OP_ATTR_INT:
        attribute.add_enum(field::kAttributeType, 2);
        return attribute.add_int64(field::kI, numbers(std::int64_t{}).at(0));
      case ORT_OP_ATTR_STRING:
        attribute.add_enum(field::kAttributeType, 3);
        return attribute.add_bytes(field::kS, bytes.data(), bytes.size());
      case ORT_OP_ATTR_FLOATS:
        attribute.add_enum(field::kAttributeType, 6);
        for (const float each : numbers(float{})) attribute.add_float(field::kFloats, each);
        return;
      case ORT_OP_ATTR_INTS:
        attribute.add_enum(field::kAttributeType, 7);
        for (const std::int64_t each : numbers(std::int64_t{})) attribute.add_int64(field::kInts, each);
        return;
      case ORT_OP_ATTR_STRINGS:
        attribute.add_enum(field::kAttributeType, 8);
        for (std::size_t at = 0; at < bytes.size(); at += std::strlen(bytes.data() + at) + 1)
          attribute.add_string(field::kStrings, bytes.data() + at);  // each ends in NUL
        return;
      default:
        throw Failure(ORT_NOT_IMPLEMENTED,
                      "attribute '" + name + "': kind " + std::to_string(kind) + " is not known to the plug-in");
    }
  }

  const Apis& apis_;
  GraphReader reader_;
  std::vector<std::pair<std::string, const OrtValue*>> weights_;
  mutable int unnamed_ = 0;
};

}  // namespace

WrittenModel WriteGroup(const Apis& apis, const OrtGraph& graph) {
  Writer writer(apis);
  WrittenModel written;
  pbf_writer model(written.bytes);
  writer.WriteOpsets(model, GraphReader(apis).Opsets(graph));
  writer.WriteGraph({model, field::kGraph}, graph);
  written.weights = writer.TakeWeights();
  return written;
}

WrittenModel WriteNode(const Apis& apis, const OrtNode& node,
                       const std::vector<std::pair<std::string, std::int64_t>>& opsets) {
  Writer writer(apis);
  const GraphReader reader(apis);
  WrittenModel written;
  pbf_writer model(written.bytes);
  writer.WriteOpsets(model, opsets);
  pbf_writer graph(model, field::kGraph);
  graph.add_string(field::kGraphName, "node");
  writer.WriteNode({graph, field::kNode}, node);
  std::set<std::string> seen;
  for (const auto& list : {reader.Inputs(node), reader.ImplicitInputs(node)}) {
    for (const OrtValueInfo* value : list) {
      if (value == nullptr || !seen.insert(reader.Name(value)).second) continue;
      std::size_t size = kSmall + 1;
      const bool constant = reader.IsConstant(*value);
      if (constant) apis.Host(apis.host->GetTensorSizeInBytes(reader.Contents(*value), &size));
      if (constant && size <= kSmall) {
        writer.WriteTensor({graph, field::kInitializer}, reader.Name(value), *reader.Contents(*value), false);
      } else {
        writer.WriteInput({graph, field::kInput}, *value);
      }
    }
  }
  for (const OrtValueInfo* value : reader.Outputs(node))
    if (value != nullptr) writer.WriteOutput({graph, field::kOutput}, *value);
  return written;
}

}  // namespace sardonyx_cpu
