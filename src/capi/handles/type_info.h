// capi/handles/type_info.h - OrtTypeInfo and the infos inside it, made from ir types.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capi/handles/kind.h"
#include "ir/type.h"
#include "onnxruntime_c_api.h"
#include "tensor/value.h"

// Element type and shape. A dimension that is no number is -1; its symbol, if it has one, is in `symbols`.
struct OrtTensorTypeAndShapeInfo {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kTensorTypeAndShapeInfo> mark;
  ONNXTensorElementDataType element_type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
  bool has_shape = false;
  std::vector<std::int64_t> dims;
  std::vector<std::string> symbols;  // one per dimension, "" where there is none
};

struct OrtMapTypeInfo {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kMapTypeInfo> mark;
  ONNXTensorElementDataType key_type;
  sardonyx::Type value;
};

struct OrtSequenceTypeInfo {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kSequenceTypeInfo> mark;
  sardonyx::Type element;
  std::vector<std::string> symbols;  // of a tensor's dimensions where the type cannot hold them: those with a number
};

struct OrtOptionalTypeInfo {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kOptionalTypeInfo> mark;
  sardonyx::Type contained;
};

// Exactly the info of its kind is there; casts hand out pointers to it.
struct OrtTypeInfo {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kTypeInfo> mark;
  ONNXType kind = ONNX_TYPE_UNKNOWN;
  std::string denotation;
  std::unique_ptr<OrtTensorTypeAndShapeInfo> tensor;
  std::unique_ptr<OrtMapTypeInfo> map;
  std::unique_ptr<OrtSequenceTypeInfo> sequence;
  std::unique_ptr<OrtOptionalTypeInfo> optional;
};

namespace sardonyx::capi {

std::unique_ptr<OrtTypeInfo> MakeTypeInfo(const Type& type);
std::unique_ptr<OrtTensorTypeAndShapeInfo> MakeTensorInfo(const Type& type);
std::unique_ptr<OrtTensorTypeAndShapeInfo> MakeTensorInfo(DType dtype, Dims dims);
// Where the model names a dimension whose size is not known, its name (of `names`, one for each dimension or none at
// all) counts word for word, not what inference found.
void NameDims(OrtTypeInfo& info, const std::vector<std::string>& names);
// The type that a value has now; of sequences the element's rank is unknown.
Type TypeOf(const Value& value);
ONNXType KindOf(const Value& value);
// The inverse of MakeTypeInfo, for the model editor.
Type FromTypeInfo(const OrtTypeInfo& info);

}  // namespace sardonyx::capi
