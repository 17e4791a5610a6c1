// capi/handles/element_type.h - converts between DType and ONNXTensorElementDataType, whose newest numbers differ.
#pragma once

#include "base/dtype.h"
#include "base/error.h"
#include "onnxruntime_c_api.h"

namespace sardonyx::capi {

inline ONNXTensorElementDataType ToElementType(DType dtype) {
  switch (dtype) {
    case DType::kUInt2:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2;
    case DType::kInt2:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2;
    case DType::kFloat8E8M0:
      return ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0;
    default:
      return static_cast<ONNXTensorElementDataType>(dtype);
  }
}

// Fails with `code` for what is no element type of a tensor.
inline DType FromElementType(ONNXTensorElementDataType type, Code code = Code::kInvalidArgument) {
  const int number = static_cast<int>(type);
  switch (number) {
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT2:
      return DType::kUInt2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT2:
      return DType::kInt2;
    case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E8M0:
      return DType::kFloat8E8M0;
    default:
      if (number <= 0 || number > ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT4E2M1)
        Fail(code, "expected an ONNXTensorElementDataType from 1 to 26, found ", number);
      return static_cast<DType>(number);
  }
}

}  // namespace sardonyx::capi
