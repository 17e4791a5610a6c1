// plugins/onednn/model.cpp - reads the host's graph.
#include "model.h"

#include <cstring>
#include <unordered_map>

namespace sardonyx_onednn {
namespace {

template <typename T>
std::vector<double> Read(std::span<const std::byte> bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    numbers[i] = static_cast<double>(element);
  }
  return numbers;
}

template <typename T>
std::vector<T> Elements(const std::vector<char>& bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(T));
  return elements;
}

class Reader {
 public:
  Reader(const plugin_host::GraphReader& reader, bool copy) : reader_(reader), copy_(copy) {}

  Graph Read(const OrtGraph& graph) {
    for (const OrtValueInfo* value : reader_.Inputs(graph)) graph_.inputs.push_back(ValueOf(value));
    for (const OrtNode* node : reader_.Nodes(graph)) graph_.nodes.push_back(NodeOf(*node));
    for (const OrtValueInfo* value : reader_.Outputs(graph)) graph_.outputs.push_back(ValueOf(value));
    graph_.Index();
    return std::move(graph_);
  }

 private:
  int ValueOf(const OrtValueInfo* info) {
    if (info == nullptr) return -1;
    const std::string name = reader_.Name(info);
    if (name.empty()) return -1;
    const auto [found, added] = by_name_.emplace(name, static_cast<int>(graph_.values.size()));
    if (!added) return found->second;
    const plugin_host::ValueFacts facts = reader_.Facts(*info);
    Value value;
    value.name = name;
    value.type = facts.is_tensor ? facts.element_type : ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    value.has_shape = facts.has_shape;
    value.dims = facts.dims;
    if (facts.is_tensor && reader_.IsConstant(*info)) value.constant = ConstantOf(*info);
    graph_.values.push_back(std::move(value));
    return found->second;
  }

  std::optional<Constant> ConstantOf(const OrtValueInfo& info) const {
    const OrtValue* contents = reader_.Contents(info);
    if (contents == nullptr) return std::nullopt;
    const plugin_host::TensorView tensor = reader_.View(*contents);
    if (tensor.type == ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) return std::nullopt;
    Constant constant;
    constant.type = tensor.type;
    constant.dims = tensor.dims;
    constant.bytes = tensor.bytes;
    if (copy_) {
      constant.own = std::make_shared<std::vector<std::byte>>(tensor.bytes.begin(), tensor.bytes.end());
      constant.bytes = *constant.own;
    }
    return constant;
  }

  Node NodeOf(const OrtNode& from) {
    Node node;
    node.name = reader_.Name(from);
    node.domain = reader_.Domain(from);
    if (node.domain == "ai.onnx") node.domain.clear();
    node.op_type = reader_.Operator(from);
    node.since = reader_.SinceVersion(from);
    node.sources = {&from};
    node.has_body = !reader_.Subgraphs(from).empty();
    for (const OrtValueInfo* value : reader_.Inputs(from)) node.inputs.push_back(ValueOf(value));
    for (const OrtValueInfo* value : reader_.Outputs(from)) node.outputs.push_back(ValueOf(value));
    for (const OrtOpAttr* attribute : reader_.Attributes(from)) AddAttribute(*attribute, node);
    return node;
  }

  void AddAttribute(const OrtOpAttr& from, Node& node) const {
    Attribute attribute;
    switch (reader_.Kind(from)) {
      case ORT_OP_ATTR_INT:
      case ORT_OP_ATTR_INTS:
        attribute.ints = Elements<std::int64_t>(reader_.Bytes(from));
        break;
      case ORT_OP_ATTR_FLOAT:
      case ORT_OP_ATTR_FLOATS:
        attribute.floats = Elements<float>(reader_.Bytes(from));
        break;
      case ORT_OP_ATTR_STRING: {
        const std::vector<char> bytes = reader_.Bytes(from);
        attribute.text.assign(bytes.begin(), bytes.end());
        while (!attribute.text.empty() && attribute.text.back() == '\0') attribute.text.pop_back();
        break;
      }
      default:
        break;  // no operator that we take has attributes of other kinds
    }
    node.attributes.emplace(reader_.Name(from), std::move(attribute));
  }

  const plugin_host::GraphReader& reader_;
  const bool copy_;
  Graph graph_;
  std::unordered_map<std::string, int> by_name_;
};

}  // namespace

std::int64_t Constant::count() const { return CountOf(dims); }

std::vector<double> Constant::Numbers() const {
  switch (type) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
      return Read<float>(bytes);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE:
      return Read<double>(bytes);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8:
      return Read<std::int8_t>(bytes);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8:
      return Read<std::uint8_t>(bytes);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32:
      return Read<std::int32_t>(bytes);
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64:
      return Read<std::int64_t>(bytes);
    default:
      throw Failure(ORT_NOT_IMPLEMENTED, "a constant of element type " + std::to_string(type) + ": expected a number");
  }
}

std::int64_t Node::Int(std::string_view attribute, std::int64_t otherwise) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() || found->second.ints.empty() ? otherwise : found->second.ints[0];
}

float Node::Float(std::string_view attribute, float otherwise) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() || found->second.floats.empty() ? otherwise : found->second.floats[0];
}

std::string Node::Text(std::string_view attribute, const std::string& otherwise) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() ? otherwise : found->second.text;
}

Dims Node::Ints(std::string_view attribute, const Dims& otherwise) const {
  const auto found = attributes.find(attribute);
  return found == attributes.end() || found->second.ints.empty() ? otherwise : found->second.ints;
}

void Graph::Index() {
  producer.assign(values.size(), -1);
  consumers.assign(values.size(), {});
  is_output.assign(values.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const int value : nodes[i].outputs)
      if (value >= 0) producer[static_cast<std::size_t>(value)] = static_cast<int>(i);
    for (const int value : nodes[i].inputs)
      if (value >= 0) consumers[static_cast<std::size_t>(value)].push_back(static_cast<int>(i));
  }
  for (const int value : outputs) is_output[static_cast<std::size_t>(value)] = true;
}

Graph ReadGraph(const plugin_host::GraphReader& reader, const OrtGraph& graph, bool copy) {
  return Reader(reader, copy).Read(graph);
}

std::string Show(const Dims& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  return text + "]";
}

std::int64_t CountOf(const Dims& dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return count;
}

}  // namespace sardonyx_onednn
