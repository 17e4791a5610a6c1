// model/load_value.cpp - loads values from files that hold a single TensorProto, SequenceProto, MapProto or
// OptionalProto.
#include <algorithm>
#include <numeric>
#include <utility>

#include "model/load.h"
#include "model/onnx_fields.h"
#include "model/tensor_reader.h"

namespace sardonyx::model {
namespace {

// The kinds of SequenceProto.elem_type and OptionalProto.elem_type are the numbers of the fields less 2.
Value ReadSequence(Message message, LoadContext& context, std::string* name);
Value ReadMap(Message message, LoadContext& context, std::string* name);
Value ReadOptional(Message message, LoadContext& context, std::string* name);

// The current field as an item of a sequence or the contents of an optional.
Value ReadItem(Message& m, LoadContext& context, std::int64_t index) {
  switch (m.tag()) {
    case SequenceField::kTensors:
      return ReadTensor(m.Sub("tensor", index), context).data.tensor;
    case SequenceField::kSparseTensors:
      return ReadSparseTensor(m.Sub("sparse_tensor", index), context).tensor;
    case SequenceField::kSequences:
      return ReadSequence(m.Sub("sequence", index), context, nullptr);
    case SequenceField::kMaps:
      return ReadMap(m.Sub("map", index), context, nullptr);
    default:
      return ReadOptional(m.Sub("optional", index), context, nullptr);
  }
}

Value ReadSequence(Message message, LoadContext& context, std::string* name) {
  Sequence sequence;
  while (message.Next()) {
    if (message.tag() == SequenceField::kName && name != nullptr) *name = message.Text();
    if (message.tag() < SequenceField::kTensors || message.tag() > SequenceField::kOptionals) continue;
    sequence.items.push_back(ReadItem(message, context, static_cast<std::int64_t>(sequence.items.size())));
    const Value& item = sequence.items.back();
    if (item.is_tensor() && sequence.items.size() == 1) sequence.element_dtype = item.tensor().dtype();
    const DType found = item.is_tensor() ? item.tensor().dtype() : DType::kUndefined;
    if (found != sequence.element_dtype)
      message.Fail(Code::kInvalidGraph, "expected items of one type, found item ", sequence.items.size() - 1,
                   " of type ", item.KindName(), " after ", sequence.items.front().KindName());
  }
  return sequence;
}

// The values of a map as one tensor: they come as a sequence of tensors with one element each.
Tensor JoinValues(const Sequence& values, const Message& message) {
  const auto count = static_cast<std::int64_t>(values.items.size());
  if (count == 0) return Tensor(DType::kFloat, Shape{0});
  const DType dtype = values.element_dtype;
  if (dtype == DType::kUndefined || IsSubByte(dtype))
    message.Fail(Code::kNotImplemented, "maps with values of type ", values.items.front().KindName(),
                 " are not implemented");
  Tensor joined(dtype, Shape{count});
  const std::size_t element = IsString(dtype) ? 0 : static_cast<std::size_t>(Bits(dtype)) / 8;
  for (std::int64_t i = 0; i < count; ++i) {
    const Tensor& item = values.items[static_cast<std::size_t>(i)].tensor();
    if (item.count() != 1)
      message.Fail(Code::kNotImplemented, "expected one element as each value of the map, found ", item.count(),
                   " elements");
    if (IsString(dtype)) {
      joined.data<std::string>()[i] = item.data<std::string>()[0];
    } else {
      const auto* from = static_cast<const char*>(item.raw());
      std::copy(from, from + element, static_cast<char*>(joined.raw()) + static_cast<std::size_t>(i) * element);
    }
  }
  return joined;
}

// Brings the keys into ascending order, and the values with them.
template <typename Key>
void SortByKey(std::vector<Key>& keys, Sequence& values) {
  if (keys.size() != values.items.size() || std::is_sorted(keys.begin(), keys.end())) return;
  std::vector<std::size_t> order(keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
  std::vector<Key> sorted_keys;
  std::vector<Value> sorted_values;
  for (const std::size_t i : order) {
    sorted_keys.push_back(std::move(keys[i]));
    sorted_values.push_back(std::move(values.items[i]));
  }
  keys = std::move(sorted_keys);
  values.items = std::move(sorted_values);
}

Value ReadMap(Message message, LoadContext& context, std::string* name) {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> strings;
  std::int64_t key_type = 0;
  Value values;
  while (message.Next()) {
    switch (message.tag()) {
      case MapField::kName:
        if (name != nullptr) *name = message.Text();
        break;
      case MapField::kKeyType:
        key_type = message.Int();
        break;
      case MapField::kKeys:
        message.AppendInts(numbers);
        break;
      case MapField::kStringKeys:
        strings.push_back(message.Text());
        break;
      case MapField::kValues:
        values = ReadSequence(message.Sub("values"), context, nullptr);
        break;
      default:
        break;
    }
  }
  const DType key = ReadDType(key_type, message);
  if (key != DType::kString && key != DType::kInt64)
    message.Fail(Code::kNotImplemented, "expected a map with keys of type int64 or string, found ", Name(key));
  Sequence items = values.is_sequence() ? values.sequence() : Sequence{};
  SortByKey(numbers, items);
  SortByKey(strings, items);
  Map map;
  map.keys = key == DType::kString ? Tensor::Vector(std::span<const std::string>(strings))
                                   : Tensor::Vector(std::span<const std::int64_t>(numbers));
  map.values = JoinValues(items, message);
  if (map.keys.count() != map.values.count())
    message.Fail(Code::kInvalidGraph, "expected as many values as keys, found ", map.keys.count(), " keys and ",
                 map.values.count(), " values");
  return map;
}

Value ReadOptional(Message message, LoadContext& context, std::string* name) {
  Value value;
  while (message.Next()) {
    if (message.tag() == SequenceField::kName && name != nullptr) *name = message.Text();
    if (message.tag() >= SequenceField::kTensors && message.tag() <= SequenceField::kOptionals)
      value = ReadItem(message, context, -1);
  }
  return value;
}

// read(message, context) of bytes that stand alone.
template <typename F>
auto ReadAlone(std::span<const std::byte> bytes, const char* what, F&& read) {
  const LoadOptions options;
  ExternalFiles files(options, "");
  const char* begin = static_cast<const char*>(static_cast<const void*>(bytes.data()));
  LoadContext context{options, files, {what, begin}, nullptr, nullptr, 0, {}};
  return read(Message({begin, bytes.size()}, context.source), context);
}

}  // namespace

Tensor LoadTensor(std::span<const std::byte> bytes, std::string* name) {
  return ReadAlone(bytes, "the tensor", [&](const Message& message, LoadContext& context) {
    NamedInitializer read = ReadTensor(message, context);
    if (name != nullptr) *name = std::move(read.name);
    return std::move(read.data.tensor);
  });
}

Value LoadSequence(std::span<const std::byte> bytes, std::string* name) {
  return ReadAlone(bytes, "the sequence",
                   [&](const Message& message, LoadContext& context) { return ReadSequence(message, context, name); });
}

Value LoadMap(std::span<const std::byte> bytes, std::string* name) {
  return ReadAlone(bytes, "the map",
                   [&](const Message& message, LoadContext& context) { return ReadMap(message, context, name); });
}

Value LoadOptional(std::span<const std::byte> bytes, std::string* name) {
  return ReadAlone(bytes, "the optional",
                   [&](const Message& message, LoadContext& context) { return ReadOptional(message, context, name); });
}

}  // namespace sardonyx::model
