// tests/fuzz/model_mutator.cpp - mutates operators, attributes, shapes, types and edges; see model_mutator.h.
#include "fuzz/model_mutator.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/dtype.h"
#include "base/error.h"
#include "model/onnx_fields.h"
#include "ops/schema/schema.h"

namespace sardonyx::fuzz {
namespace {

using namespace model;

template <typename T>
std::string RawOf(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}

std::int64_t CountOf(const std::vector<std::uint64_t>& dims) {
  std::int64_t count = 1;
  for (const std::uint64_t dim : dims) {
    if (dim > 4096) return -1;
    count *= static_cast<std::int64_t>(dim);
    if (count > 4096) return -1;
  }
  return count;
}

}  // namespace

std::uint64_t ModelMutator::Number() {
  constexpr std::int64_t kEdges[] = {-1,
                                     0,
                                     1,
                                     2,
                                     3,
                                     -2,
                                     7,
                                     8,
                                     100,
                                     65536,
                                     std::numeric_limits<std::int32_t>::max(),
                                     std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int64_t>::max(),
                                     std::numeric_limits<std::int64_t>::min(),
                                     std::int64_t{1} << 31,
                                     std::int64_t{1} << 32,
                                     std::int64_t{1} << 40,
                                     std::int64_t{1} << 62};
  // Mostly small ones: the large ones are refused early.
  return static_cast<std::uint64_t>(OneIn(4) ? kEdges[Below(std::size(kEdges))]
                                             : static_cast<std::int64_t>(Below(7)) - 2);
}

float ModelMutator::Float() {
  constexpr float kEdges[] = {0.0F,
                              -0.0F,
                              1.0F,
                              -1.0F,
                              0.5F,
                              1e30F,
                              -1e30F,
                              1e-30F,
                              std::numeric_limits<float>::infinity(),
                              -std::numeric_limits<float>::infinity(),
                              std::numeric_limits<float>::quiet_NaN()};
  return kEdges[Below(std::size(kEdges))];
}

void ModelMutator::Collect(Field& message, Parts& to) {
  switch (message.kind) {
    case Kind::kGraph:
      to.graphs.push_back(&message);
      break;
    case Kind::kNode:
      to.nodes.push_back(&message);
      break;
    case Kind::kAttribute:
      to.attributes.push_back(&message);
      break;
    case Kind::kTensor:
      to.tensors.push_back(&message);
      break;
    case Kind::kTensorType:
      to.types.push_back(&message);
      break;
    case Kind::kShape:
      to.shapes.push_back(&message);
      break;
    case Kind::kDim:
      to.dims.push_back(&message);
      break;
    case Kind::kOpset:
      to.opsets.push_back(&message);
      break;
    default:
      break;
  }
  for (Field& field : message.fields)
    if (field.is_message()) Collect(field, to);
}

std::string ModelMutator::Mutate(std::string_view bytes) {
  Field model;
  if (!Parse(bytes, Kind::kModel, model)) return std::string(bytes);
  const std::size_t changes = 1 + (OneIn(3) ? 1 : 0) + (OneIn(8) ? 2 : 0);
  for (std::size_t i = 0; i < changes; ++i) ChangeOnce(model);
  return Serialize(model);
}

void ModelMutator::ChangeOnce(Field& model) {
  Parts parts;
  Collect(model, parts);
  const auto change = [&](const std::vector<Field*>& fields, void (ModelMutator::*with)(Field&)) {
    if (Field* field = Any(fields)) (this->*with)(*field);
  };
  switch (Below(20)) {
    case 0:
    case 1:
      return change(parts.nodes, &ModelMutator::ChangeOperator);
    case 2:
    case 3:
    case 4:
    case 5:
      return change(parts.attributes, &ModelMutator::ChangeAttribute);
    case 6:
    case 7:
      return change(parts.nodes, &ModelMutator::AddAttribute);
    case 8:
    case 9:
    case 10:
      return change(parts.tensors, &ModelMutator::ChangeElements);
    case 11:
      return change(parts.tensors, &ModelMutator::ChangeTensorShape);
    case 12:
    case 13:
      return change(parts.dims, &ModelMutator::ChangeDim);
    case 14:
      return OneIn(4) ? change(parts.shapes, &ModelMutator::ChangeRank)
                      : change(parts.types, &ModelMutator::ChangeElementType);
    case 15:
      return change(parts.graphs, &ModelMutator::ChangeEdge);
    case 16:
      return change(parts.graphs, &ModelMutator::RepeatNode);
    case 17:
      return change(parts.graphs, OneIn(2) ? &ModelMutator::RemoveNode : &ModelMutator::FixInput);
    case 18:
      if (Field* opset = Any(parts.opsets)) opset->SetNumber(EntryField::kVersion, 1 + Below(27));
      return;
    default:
      return change(parts.graphs, &ModelMutator::FixInput);
  }
}

// Another operator that takes as many inputs.
void ModelMutator::ChangeOperator(Field& node) {
  const std::string domain = node.TextAt(NodeField::kDomain);
  const std::vector<std::string> all = ops::AllOpTypes(domain == "ai.onnx" ? "" : domain);
  if (all.empty()) return;
  const auto inputs = std::count_if(node.fields.begin(), node.fields.end(),
                                    [](const Field& field) { return field.tag == NodeField::kInput; });
  for (int attempt = 0; attempt < 20; ++attempt) {
    const std::string& name = all[Below(all.size())];
    const ops::OpSchema* schema = ops::FindSchema(domain, name);
    if (schema == nullptr || (inputs < schema->min_inputs || inputs > schema->max_inputs) != OneIn(16)) continue;
    node.SetBytes(NodeField::kOpType, name, Kind::kText);
    // The attributes of the old one are unknown to it.
    if (!OneIn(4)) node.Remove(NodeField::kAttribute);
    return;
  }
}

void ModelMutator::ChangeAttribute(Field& attribute) {
  for (Field& field : attribute.fields) {
    if (field.tag == AttributeField::kI) field.number = Number();
    if (field.tag == AttributeField::kF) field.number = std::bit_cast<std::uint32_t>(Float());
    if (field.kind == Kind::kNumbers) {
      auto& list = field.numbers;
      const std::size_t at = Below(list.size());
      if (OneIn(6) || list.empty()) {
        list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), Number());
      } else if (OneIn(6)) {
        list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        list[at] = Number();
      }
    }
    if (field.tag == AttributeField::kS && !field.bytes.empty()) {
      constexpr const char* kTexts[] = {"NOTSET",  "SAME_UPPER", "VALID", "linear", "cubic",
                                        "reflect", "edge",       "wrap",  "add",    "bidirectional",
                                        "NCHW",    "ij,jk->ik",  ""};
      field.bytes = kTexts[Below(std::size(kTexts))];
    }
    if (field.tag == AttributeField::kName && OneIn(20)) field.bytes += "x";
    if (field.tag == AttributeField::kType && OneIn(20)) field.number = Below(16);
  }
}

// One of those the schema knows, of the right type.
void ModelMutator::AddAttribute(Field& node) {
  const ops::OpSchema* schema = ops::FindSchema(node.TextAt(NodeField::kDomain), node.TextAt(NodeField::kOpType));
  if (schema == nullptr || schema->attributes().empty()) return;
  const ops::AttributeSpec& spec = schema->attributes()[Below(schema->attributes().size())];
  for (const Field& field : node.fields)
    if (field.tag == NodeField::kAttribute && field.TextAt(AttributeField::kName) == spec.name()) return;
  Field attribute;
  attribute.kind = Kind::kAttribute;
  attribute.SetBytes(AttributeField::kName, std::string(spec.name()), Kind::kText);
  attribute.SetNumber(AttributeField::kType, spec.type);
  if (spec.type == kAttrInt) attribute.SetNumber(AttributeField::kI, Number());
  if (spec.type == kAttrFloat) {
    Field& field = attribute.Add(AttributeField::kF, Kind::kNumber);
    field.wire = 5;
    field.number = std::bit_cast<std::uint32_t>(Float());
  }
  if (spec.type == kAttrString) attribute.SetBytes(AttributeField::kS, "linear", Kind::kText);
  if (spec.type == kAttrInts) {
    Field& field = attribute.Add(AttributeField::kInts, Kind::kNumbers);
    for (std::size_t i = Below(5); i > 0; --i) field.numbers.push_back(Number());
  }
  if (spec.type > kAttrString && spec.type != kAttrInts) return;
  Field& field = node.Add(NodeField::kAttribute, Kind::kAttribute);
  field.fields = std::move(attribute.fields);
}

void ModelMutator::ChangeElements(Field& tensor) {
  for (Field& field : tensor.fields) {
    if (field.kind == Kind::kNumbers && field.tag != TensorField::kDims && !field.numbers.empty())
      field.numbers[Below(field.numbers.size())] = Number();
    if (field.tag == TensorField::kFloatData && field.bytes.size() >= 4) {
      const float value = Float();
      field.bytes.replace(4 * Below(field.bytes.size() / 4), 4, reinterpret_cast<const char*>(&value), 4);
    }
    if (field.tag != TensorField::kRawData || field.bytes.empty()) continue;
    const std::uint64_t type = tensor.NumberAt(TensorField::kDataType);
    const bool is_float = type == static_cast<std::uint64_t>(DType::kFloat);
    const std::size_t size = type == static_cast<std::uint64_t>(DType::kInt64) ? 8 : is_float ? 4 : 1;
    if (field.bytes.size() < size) continue;
    const std::uint64_t value = is_float ? std::bit_cast<std::uint32_t>(Float()) : Number();
    field.bytes.replace(size * Below(field.bytes.size() / size), size, reinterpret_cast<const char*>(&value), size);
  }
}

// Another shape, mostly with as much data as it needs.
void ModelMutator::ChangeTensorShape(Field& tensor) {
  Field* dims = tensor.Find(TensorField::kDims);
  if (dims == nullptr) dims = &tensor.Add(TensorField::kDims, Kind::kNumbers);
  std::vector<std::uint64_t>& list = dims->numbers;
  const std::int64_t before = CountOf(list);
  if (list.empty() || OneIn(4)) {
    list.push_back(OneIn(2) ? 1 : Below(4));
  } else if (OneIn(4)) {
    list.pop_back();
  } else {
    list[Below(list.size())] = OneIn(8) ? Number() : Below(5);
  }
  const std::int64_t after = CountOf(list);
  Field* raw = tensor.Find(TensorField::kRawData);
  if (raw == nullptr || before <= 0 || after < 0 || OneIn(10)) return;
  const std::size_t element = raw->bytes.size() / static_cast<std::size_t>(before);
  raw->bytes.resize(element * static_cast<std::size_t>(after), '\1');
}

void ModelMutator::ChangeDim(Field& dim) {
  const bool named = OneIn(3);
  dim.fields.clear();
  if (named) {
    constexpr const char* kNames[] = {"n", "m", "batch", "n + 1", "2*n", "floor(n/2)"};
    dim.SetBytes(TypeField::kDimParam, kNames[Below(std::size(kNames))], Kind::kText);
  } else {
    dim.SetNumber(TypeField::kDimValue, OneIn(10) ? Number() : Below(6));
  }
}

void ModelMutator::ChangeRank(Field& shape) {
  if (shape.fields.empty() || OneIn(2)) {
    shape.Add(TypeField::kDim, Kind::kDim).SetNumber(TypeField::kDimValue, Below(4));
  } else {
    shape.fields.erase(shape.fields.begin() + static_cast<std::ptrdiff_t>(Below(shape.fields.size())));
  }
}

void ModelMutator::ChangeElementType(Field& type) { type.SetNumber(TypeField::kElemType, 1 + Below(23)); }

// A node reads another value, or none, or gives an output no name.
void ModelMutator::ChangeEdge(Field& graph) {
  std::vector<std::string> names;
  std::vector<Field*> inputs, outputs;
  for (Field& field : graph.fields) {
    if (field.tag == GraphField::kInput || field.tag == GraphField::kInitializer)
      names.push_back(field.TextAt(field.tag == GraphField::kInput ? std::uint32_t{ValueInfoField::kName}
                                                                   : std::uint32_t{TensorField::kName}));
    if (field.kind != Kind::kNode) continue;
    for (Field& edge : field.fields) {
      if (edge.tag == NodeField::kInput) inputs.push_back(&edge);
      if (edge.tag != NodeField::kOutput) continue;
      outputs.push_back(&edge);
      names.push_back(edge.bytes);
    }
  }
  if (OneIn(8)) {
    if (Field* output = Any(outputs)) output->bytes.clear();
  } else if (Field* input = Any(inputs)) {
    input->bytes = OneIn(5) || names.empty() ? "" : names[Below(names.size())];
  }
}

// A copy of a node behind it, in front of the graph's output or in the air.
void ModelMutator::RepeatNode(Field& graph) {
  std::vector<std::size_t> nodes;
  for (std::size_t i = 0; i < graph.fields.size(); ++i)
    if (graph.fields[i].kind == Kind::kNode) nodes.push_back(i);
  if (nodes.empty()) return;
  const std::size_t at = nodes[Below(nodes.size())];
  Field copy = graph.fields[at];
  std::string made;
  for (Field& field : copy.fields) {
    if (field.tag != NodeField::kOutput || field.bytes.empty()) continue;
    if (made.empty()) made = field.bytes;
    field.bytes += "_" + std::to_string(Below(1000));
  }
  for (Field& field : copy.fields) {
    if (field.tag != NodeField::kInput || made.empty() || OneIn(3)) continue;
    field.bytes = made;
    break;
  }
  std::string last;
  for (const Field& field : copy.fields)
    if (field.tag == NodeField::kOutput && last.empty()) last = field.bytes;
  for (Field& field : graph.fields) {
    if (field.tag == GraphField::kOutput && field.TextAt(ValueInfoField::kName) == made && OneIn(2)) {
      field.SetBytes(ValueInfoField::kName, last, Kind::kText);
      break;
    }
  }
  graph.fields.insert(graph.fields.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(copy));
}

void ModelMutator::RemoveNode(Field& graph) {
  for (std::size_t i = 0; i < graph.fields.size(); ++i) {
    if (graph.fields[i].kind != Kind::kNode || !OneIn(3)) continue;
    graph.fields.erase(graph.fields.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

// A graph input of known shape becomes a constant, so that the loader's folding and packing see its contents.
void ModelMutator::FixInput(Field& graph) {
  for (std::size_t i = 0; i < graph.fields.size(); ++i) {
    Field& input = graph.fields[i];
    if (input.tag != GraphField::kInput || input.kind != Kind::kValueInfo || OneIn(2)) continue;
    Field* type = input.Find(ValueInfoField::kType);
    Field* tensor_type = type == nullptr ? nullptr : type->Find(TypeField::kTensor);
    Field* shape = tensor_type == nullptr ? nullptr : tensor_type->Find(TypeField::kShape);
    if (shape == nullptr || !tensor_type->is_message()) continue;
    std::vector<std::uint64_t> dims;
    for (const Field& dim : shape->fields) dims.push_back(dim.NumberAt(TypeField::kDimValue));
    const std::int64_t count = CountOf(dims);
    const std::uint64_t number = tensor_type->NumberAt(TypeField::kElemType);
    if (count < 0 || !IsDType(static_cast<std::int64_t>(number))) continue;
    const auto dtype = static_cast<DType>(number);
    if (IsString(dtype)) continue;
    Field tensor;
    tensor.kind = Kind::kTensor;
    tensor.Add(TensorField::kDims, Kind::kNumbers).numbers = dims;
    tensor.SetNumber(TensorField::kDataType, number);
    tensor.SetBytes(TensorField::kName, input.TextAt(ValueInfoField::kName), Kind::kText);
    std::string raw;
    if (dtype == DType::kInt64) {
      std::vector<std::uint64_t> elements(static_cast<std::size_t>(count));
      std::generate(elements.begin(), elements.end(), [&] { return Number(); });
      raw = RawOf(elements);
    } else if (dtype == DType::kFloat) {
      std::vector<float> elements(static_cast<std::size_t>(count));
      std::generate(elements.begin(), elements.end(), [&] { return static_cast<float>(Below(9)) / 2 - 2; });
      raw = RawOf(elements);
    } else {
      raw.assign(ByteSize(dtype, count), OneIn(2) ? '\1' : '\0');
    }
    tensor.SetBytes(TensorField::kRawData, raw, Kind::kBytes);
    Field constant;
    constant.tag = GraphField::kInitializer;
    constant.wire = 2;
    constant.kind = Kind::kTensor;
    constant.fields = std::move(tensor.fields);
    graph.fields[i] = std::move(constant);
    return;
  }
}

}  // namespace sardonyx::fuzz
