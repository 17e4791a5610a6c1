// model/type_reader.cpp - converts TypeProto to Type.
#include "model/type_reader.h"

#include <utility>

#include "model/onnx_fields.h"

namespace sardonyx::model {
namespace {

// A negative number or the name "?", as some converters write them, and an empty name mean that the dimension is not
// known.
Dim ReadDim(Message message) {
  Dim dim;
  while (message.Next()) {
    if (message.tag() == TypeField::kDimValue) {
      const std::int64_t number = message.Int();
      dim = number < 0 ? Dim() : Dim(number);
    } else if (message.tag() == TypeField::kDimParam) {
      const std::string name = message.Name();
      dim = name == "?" ? Dim() : Dim::Symbol(name);
    }
  }
  return dim;
}

std::vector<Dim> ReadShape(Message message) {
  std::vector<Dim> dims;
  while (message.Next()) {
    if (message.tag() == TypeField::kDim)
      dims.push_back(ReadDim(message.Sub("dim", static_cast<std::int64_t>(dims.size()))));
  }
  return dims;
}

Type ReadTensorType(Message message, TypeKind kind) {
  Type type;
  std::int64_t element = 0;
  while (message.Next()) {
    if (message.tag() == TypeField::kElemType) element = message.Int();
    if (message.tag() == TypeField::kShape) {
      type.dims = ReadShape(message.Sub("shape"));
      type.has_rank = true;
    }
  }
  if (element == 0) return {};
  type.kind = kind;
  type.dtype = ReadDType(element, message);
  return type;
}

Type ReadElementOf(Message message, TypeKind kind) {
  Type type, element;
  type.kind = kind;
  while (message.Next()) {
    if (message.tag() == TypeField::kElemType) element = ReadType(message.Sub("elem_type"));
  }
  type.element = std::make_shared<const Type>(std::move(element));
  return type;
}

Type ReadMapType(Message message) {
  Type type, value;
  type.kind = TypeKind::kMap;
  while (message.Next()) {
    if (message.tag() == TypeField::kKeyType) type.dtype = ReadDType(message.Int(), message);
    if (message.tag() == TypeField::kValueType) value = ReadType(message.Sub("value_type"));
  }
  if (!IsInteger(type.dtype) && !IsString(type.dtype))
    message.Fail(Code::kInvalidGraph, "expected a map whose keys are integers or strings, found ", Name(type.dtype));
  type.element = std::make_shared<const Type>(std::move(value));
  return type;
}

// The texts in `field` of a TypeProto's dimensions, if it is a tensor's; empty if no dimension has one.
std::vector<std::string> ReadDimTexts(Message type, std::uint32_t field) {
  std::vector<std::string> texts;
  bool any = false;
  const auto read_dim = [&](Message dim) {
    std::string& text = texts.emplace_back();
    while (dim.Next())
      if (dim.tag() == field) text = dim.Text();
    any = any || !text.empty();
  };
  while (type.Next()) {
    if (type.tag() != TypeField::kTensor) continue;
    Message tensor = type.Sub("tensor_type");
    while (tensor.Next()) {
      if (tensor.tag() != TypeField::kShape) continue;
      Message shape = tensor.Sub("shape");
      while (shape.Next())
        if (shape.tag() == TypeField::kDim) read_dim(shape.Sub("dim", static_cast<std::int64_t>(texts.size())));
    }
  }
  return any ? texts : std::vector<std::string>();
}

}  // namespace

Type ReadType(Message message) {
  Type type;
  std::string denotation;
  while (message.Next()) {
    switch (message.tag()) {
      case TypeField::kTensor:
        type = ReadTensorType(message.Sub("tensor_type"), TypeKind::kTensor);
        break;
      case TypeField::kSparseTensor:
        type = ReadTensorType(message.Sub("sparse_tensor_type"), TypeKind::kSparseTensor);
        break;
      case TypeField::kSequence:
        type = ReadElementOf(message.Sub("sequence_type"), TypeKind::kSequence);
        break;
      case TypeField::kOptional:
        type = ReadElementOf(message.Sub("optional_type"), TypeKind::kOptional);
        break;
      case TypeField::kMap:
        type = ReadMapType(message.Sub("map_type"));
        break;
      case TypeField::kOpaque:
        message.Fail(Code::kNotImplemented,
                     "opaque types are not implemented; expected a tensor, sequence, map or optional");
      case TypeField::kDenotation:
        denotation = message.Text();
        break;
      default:
        break;
    }
  }
  if (!type.is_none()) type.denotation = std::move(denotation);
  return type;
}

NamedType ReadValueInfo(Message message) {
  NamedType info;
  while (message.Next()) {
    switch (message.tag()) {
      case ValueInfoField::kName:
        info.name = message.Name();
        break;
      case ValueInfoField::kDoc:
        info.doc = message.Text();
        break;
      case ValueInfoField::kType: {
        const Message type = message.Sub("type");
        info.type = ReadType(type);
        info.dim_denotations = ReadDimTexts(type, TypeField::kDimDenotation);
        info.dim_params = ReadDimTexts(type, TypeField::kDimParam);
      } break;
      case ValueInfoField::kMetadata:
        info.metadata.push_back(ReadEntry(message.Sub("metadata_props")));
        break;
      default:
        break;
    }
  }
  return info;
}

}  // namespace sardonyx::model
