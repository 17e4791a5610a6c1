// capi/handles/type_info.cpp - OrtTypeInfo and the infos inside it, made from ir types.
#include "capi/handles/type_info.h"

#include "base/error.h"
#include "capi/handles/element_type.h"

namespace sardonyx::capi {
namespace {

ONNXType KindOf(TypeKind kind) {
  switch (kind) {
    case TypeKind::kNone:
      return ONNX_TYPE_UNKNOWN;
    case TypeKind::kTensor:
      return ONNX_TYPE_TENSOR;
    case TypeKind::kSparseTensor:
      return ONNX_TYPE_SPARSETENSOR;
    case TypeKind::kSequence:
      return ONNX_TYPE_SEQUENCE;
    case TypeKind::kMap:
      return ONNX_TYPE_MAP;
    case TypeKind::kOptional:
      return ONNX_TYPE_OPTIONAL;
  }
  return ONNX_TYPE_UNKNOWN;
}

Type ElementOf(const Type& type) { return type.element != nullptr ? *type.element : Type{}; }

}  // namespace

std::unique_ptr<OrtTensorTypeAndShapeInfo> MakeTensorInfo(const Type& type) {
  auto info = std::make_unique<OrtTensorTypeAndShapeInfo>();
  info->element_type = ToElementType(type.dtype);
  info->has_shape = type.has_rank;
  for (const Dim& dim : type.dims) {
    info->dims.push_back(dim.known() ? dim.number() : -1);
    info->symbols.push_back(dim.symbolic() ? dim.ToText() : "");
  }
  return info;
}

std::unique_ptr<OrtTensorTypeAndShapeInfo> MakeTensorInfo(DType dtype, Dims dims) {
  auto info = std::make_unique<OrtTensorTypeAndShapeInfo>();
  info->element_type = ToElementType(dtype);
  info->has_shape = true;
  info->dims.assign(dims.begin(), dims.end());
  info->symbols.resize(dims.size());
  return info;
}

std::unique_ptr<OrtTypeInfo> MakeTypeInfo(const Type& type) {
  auto info = std::make_unique<OrtTypeInfo>();
  info->kind = KindOf(type.kind);
  info->denotation = type.denotation;
  switch (type.kind) {
    case TypeKind::kTensor:
    case TypeKind::kSparseTensor:
      info->tensor = MakeTensorInfo(type);
      break;
    case TypeKind::kSequence:
      info->sequence = std::make_unique<OrtSequenceTypeInfo>(OrtSequenceTypeInfo{{}, ElementOf(type), {}});
      break;
    case TypeKind::kMap:
      info->map = std::make_unique<OrtMapTypeInfo>(OrtMapTypeInfo{{}, ToElementType(type.dtype), ElementOf(type)});
      break;
    case TypeKind::kOptional:
      info->optional = std::make_unique<OrtOptionalTypeInfo>(OrtOptionalTypeInfo{{}, ElementOf(type)});
      break;
    case TypeKind::kNone:
      break;
  }
  return info;
}

Type TypeOf(const Value& value) {
  if (value.is_tensor()) return Type::TensorOf(value.tensor().dtype(), Dims(value.tensor().shape()));
  if (value.is_sparse()) {
    Type type = Type::TensorOf(value.sparse().values.dtype(), Dims(value.sparse().dense_shape));
    type.kind = TypeKind::kSparseTensor;
    return type;
  }
  if (value.is_map()) return Type::MapOf(value.map().keys.dtype(), Type::TensorOf(value.map().values.dtype(), Dims{}));
  if (value.is_sequence()) {
    const Sequence& sequence = value.sequence();
    if (!sequence.items.empty() && !sequence.items[0].is_tensor()) return Type::SequenceOf(TypeOf(sequence.items[0]));
    const DType dtype = sequence.items.empty() ? sequence.element_dtype : sequence.items[0].tensor().dtype();
    return Type::SequenceOf(Type::TensorOf(dtype));
  }
  return {};
}

ONNXType KindOf(const Value& value) {
  if (value.is_tensor()) return ONNX_TYPE_TENSOR;
  if (value.is_sparse()) return ONNX_TYPE_SPARSETENSOR;
  if (value.is_map()) return ONNX_TYPE_MAP;
  if (value.is_sequence()) return ONNX_TYPE_SEQUENCE;
  return ONNX_TYPE_UNKNOWN;
}

Type FromTypeInfo(const OrtTypeInfo& info) {
  Type type;
  if (info.tensor != nullptr) {
    type = Type::TensorOf(FromElementType(info.tensor->element_type));
    type.has_rank = info.tensor->has_shape;
    for (std::size_t i = 0; i < info.tensor->dims.size(); ++i) {
      type.dims.push_back(info.tensor->dims[i] >= 0 ? Dim(info.tensor->dims[i]) : Dim::Symbol(info.tensor->symbols[i]));
    }
    if (info.kind == ONNX_TYPE_SPARSETENSOR) type.kind = TypeKind::kSparseTensor;
  } else if (info.sequence != nullptr) {
    type = Type::SequenceOf(info.sequence->element);
  } else if (info.map != nullptr) {
    type = Type::MapOf(FromElementType(info.map->key_type), info.map->value);
  } else if (info.optional != nullptr) {
    type = Type::OptionalOf(info.optional->contained);
  }
  type.denotation = info.denotation;
  return type;
}

void NameDims(OrtTypeInfo& info, const std::vector<std::string>& names) {
  if (info.tensor == nullptr || info.tensor->dims.size() != names.size()) return;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (info.tensor->dims[i] < 0 && !names[i].empty()) info.tensor->symbols[i] = names[i];
}

}  // namespace sardonyx::capi
