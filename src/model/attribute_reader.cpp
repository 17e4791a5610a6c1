// model/attribute_reader.cpp - converts AttributeProto to Attribute.
#include <optional>

#include "model/graph_reader.h"
#include "model/onnx_fields.h"
#include "model/type_reader.h"

namespace sardonyx::model {
namespace {

using Views = std::vector<std::string_view>;

// An AttributeProto as it lies in the file; messages inside are read when the type is known.
struct Fields {
  std::string name, reference;
  std::int64_t type = 0;
  std::optional<float> f;
  std::optional<std::int64_t> i;
  std::optional<std::string_view> s, t, g, sparse, tp;
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  Views strings, tensors, graphs, sparses, types;

  // Whether there is a value in the field of `type`; an empty list is none.
  bool Has(int kind) const {
    switch (kind) {
      case kAttrFloat:
        return f.has_value();
      case kAttrInt:
        return i.has_value();
      case kAttrString:
        return s.has_value();
      case kAttrTensor:
        return t.has_value();
      case kAttrGraph:
        return g.has_value();
      case kAttrSparseTensor:
        return sparse.has_value();
      case kAttrTypeProto:
        return tp.has_value();
      case kAttrFloats:
        return !floats.empty();
      case kAttrInts:
        return !ints.empty();
      case kAttrStrings:
        return !strings.empty();
      case kAttrTensors:
        return !tensors.empty();
      case kAttrGraphs:
        return !graphs.empty();
      case kAttrSparseTensors:
        return !sparses.empty();
      default:
        return !types.empty();
    }
  }
  // The type of the first field that is there, 0 if there is none.
  int PresentType() const {
    for (int candidate = kAttrFloat; candidate <= kAttrTypeProtos; ++candidate)
      if (Has(candidate)) return candidate;
    return 0;
  }
};

Fields ReadFields(Message& m) {
  Fields fields;
  while (m.Next()) {
    switch (m.tag()) {
      case AttributeField::kName:
        fields.name = m.Name();
        break;
      case AttributeField::kRefAttrName:
        fields.reference = m.Name();
        break;
      case AttributeField::kType:
        fields.type = m.Int();
        break;
      case AttributeField::kF:
        fields.f = m.Float();
        break;
      case AttributeField::kI:
        fields.i = m.Int();
        break;
      case AttributeField::kS:
        fields.s = m.Bytes();
        break;
      case AttributeField::kT:
        fields.t = m.Bytes();
        break;
      case AttributeField::kG:
        fields.g = m.Bytes();
        break;
      case AttributeField::kSparseTensor:
        fields.sparse = m.Bytes();
        break;
      case AttributeField::kTp:
        fields.tp = m.Bytes();
        break;
      case AttributeField::kFloats:
        m.AppendFloats(fields.floats);
        break;
      case AttributeField::kInts:
        m.AppendInts(fields.ints);
        break;
      case AttributeField::kStrings:
        fields.strings.push_back(m.Bytes());
        break;
      case AttributeField::kTensors:
        fields.tensors.push_back(m.Bytes());
        break;
      case AttributeField::kGraphs:
        fields.graphs.push_back(m.Bytes());
        break;
      case AttributeField::kSparseTensors:
        fields.sparses.push_back(m.Bytes());
        break;
      case AttributeField::kTypeProtos:
        fields.types.push_back(m.Bytes());
        break;
      default:
        break;
    }
  }
  return fields;
}

// The value of `fields`, from which it takes lists of numbers, and whose messages are parts of `message`.
class ValueReader {
 public:
  ValueReader(const Message& message, Fields& fields, const GraphReader& graphs)
      : message_(message), fields_(fields), graphs_(graphs) {}

  AttributeValue Read(int type) const {
    switch (type) {
      case kAttrFloat:
        return fields_.f.value_or(0.0f);
      case kAttrInt:
        return fields_.i.value_or(0);
      case kAttrString:
        return std::string(fields_.s.value_or(""));
      case kAttrTensor:
        return ReadOneTensor(Required(fields_.t, "t"), "t", -1);
      case kAttrGraph:
        return ReadOneGraph(Required(fields_.g, "g"), "g", -1);
      case kAttrSparseTensor:
        return ReadOneSparse(Required(fields_.sparse, "sparse_tensor"), "sparse_tensor", -1);
      case kAttrTypeProto:
        return ReadOneType(Required(fields_.tp, "tp"), "tp", -1);
      case kAttrFloats:
        return std::move(fields_.floats);
      case kAttrInts:
        return std::move(fields_.ints);
      case kAttrStrings:
        return std::vector<std::string>(fields_.strings.begin(), fields_.strings.end());
      case kAttrTensors:
        return All(fields_.tensors, "tensors", &ValueReader::ReadOneTensor);
      case kAttrGraphs:
        return All(fields_.graphs, "graphs", &ValueReader::ReadOneGraph);
      case kAttrSparseTensors:
        return All(fields_.sparses, "sparse_tensors", &ValueReader::ReadOneSparse);
      default:
        return All(fields_.types, "type_protos", &ValueReader::ReadOneType);
    }
  }

 private:
  std::string_view Required(const std::optional<std::string_view>& view, const char* field) const {
    if (!view) message_.Fail(Code::kInvalidGraph, "expected a value in field '", field, "', found none");
    return *view;
  }

  Tensor ReadOneTensor(std::string_view bytes, const char* field, std::int64_t index) const {
    return ReadTensor(Message(message_, bytes, field, index), graphs_.context()).data.tensor;
  }
  SparseTensor ReadOneSparse(std::string_view bytes, const char* field, std::int64_t index) const {
    return ReadSparseTensor(Message(message_, bytes, field, index), graphs_.context()).tensor;
  }
  Type ReadOneType(std::string_view bytes, const char* field, std::int64_t index) const {
    return ReadType(Message(message_, bytes, field, index));
  }
  GraphBox ReadOneGraph(std::string_view bytes, const char* field, std::int64_t index) const {
    const Message graph(message_, bytes, field, index, {GraphField::kName});
    return GraphBox(GraphReader(graphs_.context(), &graphs_).ReadGraph(graph));
  }
  template <typename T>
  std::vector<T> All(const Views& views, const char* field,
                     T (ValueReader::*read)(std::string_view, const char*, std::int64_t) const) const {
    std::vector<T> all;
    for (const std::string_view bytes : views)
      all.push_back((this->*read)(bytes, field, static_cast<std::int64_t>(all.size())));
    return all;
  }

  const Message& message_;
  Fields& fields_;
  const GraphReader& graphs_;
};

}  // namespace

Attribute GraphReader::ReadAttribute(Message message) const {
  Fields fields = ReadFields(message);
  if (fields.name.empty()) message.Fail(Code::kInvalidGraph, "expected an attribute with a name, found none");
  const int present = fields.PresentType();
  if (fields.type < 0 || fields.type > kAttrTypeProtos)
    message.Fail(Code::kInvalidGraph, "expected an attribute type from 1 to 14, found ", fields.type);
  if (!fields.reference.empty())
    return {fields.name, AttributeReference{fields.reference, static_cast<int>(fields.type)}};
  // Old writers leave the type out.
  const int type = fields.type == 0 ? present : static_cast<int>(fields.type);
  if (type == 0) message.Fail(Code::kInvalidGraph, "expected an attribute with a type and a value, found neither");
  if (present != 0 && !fields.Has(type))
    message.Fail(Code::kInvalidGraph, "expected a value of the attribute's type ", AttributeTypeName(type),
                 ", found one of type ", AttributeTypeName(present));
  return {fields.name, ValueReader(message, fields, *this).Read(type)};
}

}  // namespace sardonyx::model
