// tests/fuzz/proto_tree.cpp - reads and writes protobuf's wire format with a table of ONNX's messages.
#include "fuzz/proto_tree.h"

#include <algorithm>

#include "model/onnx_fields.h"

namespace sardonyx::fuzz {
namespace {

using namespace model;

struct Row {
  Kind message;
  std::uint32_t tag;
  Kind field;
};

// Fields that are not listed are numbers or bytes by their wire type.
constexpr Row kRows[] = {
    {Kind::kModel, ModelField::kGraph, Kind::kGraph},
    {Kind::kModel, ModelField::kOpsetImport, Kind::kOpset},
    {Kind::kModel, ModelField::kFunctions, Kind::kFunction},
    {Kind::kGraph, GraphField::kNode, Kind::kNode},
    {Kind::kGraph, GraphField::kInitializer, Kind::kTensor},
    {Kind::kGraph, GraphField::kSparseInitializer, Kind::kSparse},
    {Kind::kGraph, GraphField::kInput, Kind::kValueInfo},
    {Kind::kGraph, GraphField::kOutput, Kind::kValueInfo},
    {Kind::kGraph, GraphField::kValueInfo, Kind::kValueInfo},
    {Kind::kFunction, FunctionField::kName, Kind::kText},
    {Kind::kFunction, FunctionField::kDomain, Kind::kText},
    {Kind::kFunction, FunctionField::kInput, Kind::kText},
    {Kind::kFunction, FunctionField::kOutput, Kind::kText},
    {Kind::kFunction, FunctionField::kAttribute, Kind::kText},
    {Kind::kFunction, FunctionField::kNode, Kind::kNode},
    {Kind::kFunction, FunctionField::kOpsetImport, Kind::kOpset},
    {Kind::kFunction, FunctionField::kAttributeProto, Kind::kAttribute},
    {Kind::kFunction, FunctionField::kValueInfo, Kind::kValueInfo},
    {Kind::kNode, NodeField::kInput, Kind::kText},
    {Kind::kNode, NodeField::kOutput, Kind::kText},
    {Kind::kNode, NodeField::kName, Kind::kText},
    {Kind::kNode, NodeField::kOpType, Kind::kText},
    {Kind::kNode, NodeField::kDomain, Kind::kText},
    {Kind::kNode, NodeField::kAttribute, Kind::kAttribute},
    {Kind::kAttribute, AttributeField::kName, Kind::kText},
    {Kind::kAttribute, AttributeField::kS, Kind::kText},
    {Kind::kAttribute, AttributeField::kRefAttrName, Kind::kText},
    {Kind::kAttribute, AttributeField::kStrings, Kind::kText},
    {Kind::kAttribute, AttributeField::kInts, Kind::kNumbers},
    {Kind::kAttribute, AttributeField::kT, Kind::kTensor},
    {Kind::kAttribute, AttributeField::kTensors, Kind::kTensor},
    {Kind::kAttribute, AttributeField::kG, Kind::kGraph},
    {Kind::kAttribute, AttributeField::kGraphs, Kind::kGraph},
    {Kind::kAttribute, AttributeField::kTp, Kind::kType},
    {Kind::kAttribute, AttributeField::kTypeProtos, Kind::kType},
    {Kind::kAttribute, AttributeField::kSparseTensor, Kind::kSparse},
    {Kind::kAttribute, AttributeField::kSparseTensors, Kind::kSparse},
    {Kind::kTensor, TensorField::kName, Kind::kText},
    {Kind::kTensor, TensorField::kDims, Kind::kNumbers},
    {Kind::kTensor, TensorField::kInt32Data, Kind::kNumbers},
    {Kind::kTensor, TensorField::kInt64Data, Kind::kNumbers},
    {Kind::kTensor, TensorField::kUInt64Data, Kind::kNumbers},
    {Kind::kTensor, TensorField::kStringData, Kind::kText},
    {Kind::kSparse, SparseTensorField::kValues, Kind::kTensor},
    {Kind::kSparse, SparseTensorField::kIndices, Kind::kTensor},
    {Kind::kSparse, SparseTensorField::kDims, Kind::kNumbers},
    {Kind::kValueInfo, ValueInfoField::kName, Kind::kText},
    {Kind::kValueInfo, ValueInfoField::kType, Kind::kType},
    {Kind::kType, TypeField::kTensor, Kind::kTensorType},
    {Kind::kType, TypeField::kSparseTensor, Kind::kTensorType},
    {Kind::kType, TypeField::kSequence, Kind::kElementType},
    {Kind::kType, TypeField::kOptional, Kind::kElementType},
    {Kind::kTensorType, TypeField::kShape, Kind::kShape},
    {Kind::kElementType, TypeField::kElemType, Kind::kType},
    {Kind::kShape, TypeField::kDim, Kind::kDim},
    {Kind::kDim, TypeField::kDimParam, Kind::kText},
    {Kind::kOpset, EntryField::kDomain, Kind::kText},
};

Kind KindOf(Kind message, std::uint32_t tag, std::uint8_t wire) {
  for (const Row& row : kRows) {
    const bool fits = wire == 2 || (wire == 0 && row.field == Kind::kNumbers);
    if (row.message == message && row.tag == tag && fits) return row.field;
  }
  return wire == 2 ? Kind::kBytes : Kind::kNumber;
}

bool ReadVarint(std::string_view& from, std::uint64_t& number) {
  number = 0;
  for (int shift = 0; shift < 70 && !from.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(from.front());
    from.remove_prefix(1);
    if (shift < 64) number |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

void WriteVarint(std::string& to, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) to += static_cast<char>((number & 0x7f) | 0x80);
  to += static_cast<char>(number);
}

bool ReadFixed(std::string_view& from, std::size_t size, std::uint64_t& number) {
  if (from.size() < size) return false;
  number = 0;
  for (std::size_t i = 0; i < size; ++i) number |= std::uint64_t{static_cast<unsigned char>(from[i])} << (8 * i);
  from.remove_prefix(size);
  return true;
}

void WriteFixed(std::string& to, std::size_t size, std::uint64_t number) {
  for (std::size_t i = 0; i < size; ++i) to += static_cast<char>(number >> (8 * i));
}

// The contents of a field with a length. A message that can't be read is kept as bytes.
bool ReadContents(std::string_view contents, Field& field, int depth) {
  constexpr int kMaxDepth = 60;
  field.bytes = contents;
  if (field.kind == Kind::kNumbers) {
    std::uint64_t number = 0;
    while (!contents.empty()) {
      if (!ReadVarint(contents, number)) return false;
      field.numbers.push_back(number);
    }
    field.bytes.clear();
  } else if (field.is_message()) {
    if (depth >= kMaxDepth || !Parse(contents, field.kind, field, depth + 1)) {
      field.kind = Kind::kBytes;
      field.fields.clear();
      return true;
    }
    field.bytes.clear();
  }
  return true;
}

}  // namespace

bool Parse(std::string_view bytes, Kind kind, Field& to, int depth) {
  to.kind = kind;
  while (!bytes.empty()) {
    std::uint64_t key = 0, length = 0;
    if (!ReadVarint(bytes, key)) return false;
    Field field;
    field.tag = static_cast<std::uint32_t>(key >> 3);
    field.wire = static_cast<std::uint8_t>(key & 7);
    field.kind = KindOf(kind, field.tag, field.wire);
    switch (field.wire) {
      case 0:
        if (!ReadVarint(bytes, field.number)) return false;
        if (field.kind == Kind::kNumbers) {
          field.numbers = {field.number};
          field.wire = 2;
        }
        break;
      case 1:
        if (!ReadFixed(bytes, 8, field.number)) return false;
        break;
      case 5:
        if (!ReadFixed(bytes, 4, field.number)) return false;
        break;
      case 2:
        if (!ReadVarint(bytes, length) || length > bytes.size()) return false;
        if (!ReadContents(bytes.substr(0, length), field, depth)) return false;
        bytes.remove_prefix(length);
        break;
      default:
        return false;
    }
    // Unpacked numbers join those before them, so that a list is one field.
    Field* before = field.kind == Kind::kNumbers && !to.fields.empty() ? &to.fields.back() : nullptr;
    if (before != nullptr && before->tag == field.tag && before->kind == Kind::kNumbers) {
      before->numbers.insert(before->numbers.end(), field.numbers.begin(), field.numbers.end());
    } else {
      to.fields.push_back(std::move(field));
    }
  }
  return true;
}

std::string Serialize(const Field& message) {
  std::string to;
  for (const Field& field : message.fields) {
    WriteVarint(to, (std::uint64_t{field.tag} << 3) | field.wire);
    if (field.wire == 0) WriteVarint(to, field.number);
    if (field.wire == 1) WriteFixed(to, 8, field.number);
    if (field.wire == 5) WriteFixed(to, 4, field.number);
    if (field.wire != 2) continue;
    std::string contents = field.bytes;
    if (field.is_message()) contents = Serialize(field);
    for (const std::uint64_t number : field.numbers) WriteVarint(contents, number);
    WriteVarint(to, contents.size());
    to += contents;
  }
  return to;
}

Field* Field::Find(std::uint32_t wanted) {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.tag == wanted; });
  return found == fields.end() ? nullptr : &*found;
}

std::uint64_t Field::NumberAt(std::uint32_t wanted) const {
  for (const Field& field : fields)
    if (field.tag == wanted) return field.number;
  return 0;
}

std::string Field::TextAt(std::uint32_t wanted) const {
  for (const Field& field : fields)
    if (field.tag == wanted) return field.bytes;
  return "";
}

Field& Field::Add(std::uint32_t wanted, Kind what) {
  Field& field = fields.emplace_back();
  field.tag = wanted;
  field.kind = what;
  field.wire = what == Kind::kNumber ? 0 : 2;
  return field;
}

void Field::SetNumber(std::uint32_t wanted, std::uint64_t value) {
  Field* field = Find(wanted);
  if (field == nullptr) field = &Add(wanted, Kind::kNumber);
  field->number = value;
}

void Field::SetBytes(std::uint32_t wanted, std::string value, Kind what) {
  Field* field = Find(wanted);
  if (field == nullptr) field = &Add(wanted, what);
  field->bytes = std::move(value);
}

void Field::Remove(std::uint32_t wanted) {
  std::erase_if(fields, [&](const Field& field) { return field.tag == wanted; });
}

}  // namespace sardonyx::fuzz
