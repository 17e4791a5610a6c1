// capi/sparse_tensor.cpp - sparse tensors in coordinate form (COO).
//
// The other two formats (CSR, block sparse) are not implemented; their functions say so.
#include <cstring>

#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/element_type.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/type_info.h"
#include "capi/handles/value.h"

namespace sardonyx::capi {
namespace {

const SparseTensor& NeedSparse(const OrtValue* value) {
  const Value& v = *AsValue(&Need(value, "ort_value"));
  if (!v.is_sparse())
    Fail(Code::kInvalidArgument, "argument 'ort_value': expected a sparse tensor, found ", v.KindName());
  return v.sparse();
}

Shape ToShape(const std::int64_t* shape, std::size_t rank, const char* name) {
  return Shape(Dims(NeedArray(shape, rank, name), rank));
}

// Indices are linear, [count], or coordinates, [count, 2].
Shape IndexShape(const SparseTensor& sparse, std::size_t indices) {
  const auto count = static_cast<std::int64_t>(indices);
  const std::int64_t values = sparse.values.count();
  const auto rank = static_cast<std::int64_t>(sparse.dense_shape.rank());
  if (count == values) return Shape{values};
  if (rank == 2 && count == 2 * values) return Shape{values, 2};
  Fail(Code::kInvalidArgument, "sparse tensor: expected ", values, " linear indices or ", 2 * values,
       " coordinates of a matrix, found ", count, " numbers");
}

void CheckHost(const OrtMemoryInfo* info) {
  if (!Need(info, "data_mem_info").device.IsHost())
    Fail(Code::kNotImplemented, "sparse tensor: expected values in host memory, found device memory");
}

ONNXTensorElementDataType ElementTypeOf(OrtSparseIndicesFormat format) {
  if (format != ORT_SPARSE_COO_INDICES)
    Fail(Code::kInvalidArgument, "sparse tensor: expected ORT_SPARSE_COO_INDICES (0) of a COO tensor, found ",
         int{format});
  return ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64;
}

}  // namespace

OrtStatusPtr ORT_API_CALL IsSparseTensor(const OrtValue* value, int* out) noexcept {
  return Guard([&] { Need(out, "out") = AsValue(&Need(value, "value"))->is_sparse() ? 1 : 0; });
}

OrtStatusPtr ORT_API_CALL CreateSparseTensorAsOrtValue(OrtAllocator* allocator, const int64_t* dense_shape,
                                                       size_t dense_shape_len, ONNXTensorElementDataType type,
                                                       OrtValue** out) noexcept {
  return Guard([&] {
    SparseTensor sparse;
    sparse.dense_shape = ToShape(dense_shape, dense_shape_len, "dense_shape");
    ElementCount(sparse.dense_shape);
    sparse.values = Tensor(FromElementType(type), Shape{0}, FromHandle(&Need(allocator, "allocator")));
    sparse.indices = Tensor(DType::kInt64, Shape{0});
    auto& result = Need(out, "out");
    result = NewHandle(std::move(sparse));
  });
}

OrtStatusPtr ORT_API_CALL CreateSparseTensorWithValuesAsOrtValue(const OrtMemoryInfo* info, void* p_data,
                                                                 const int64_t* dense_shape, size_t dense_shape_len,
                                                                 const int64_t* values_shape, size_t values_shape_len,
                                                                 ONNXTensorElementDataType type,
                                                                 OrtValue** out) noexcept {
  return Guard([&] {
    CheckHost(info);
    const DType dtype = FromElementType(type);
    if (IsString(dtype))
      Fail(Code::kInvalidArgument, "sparse tensor: expected numbers in the caller's memory, found strings");
    SparseTensor sparse;
    sparse.dense_shape = ToShape(dense_shape, dense_shape_len, "dense_shape");
    ElementCount(sparse.dense_shape);
    const Shape shape = ToShape(values_shape, values_shape_len, "values_shape");
    const std::size_t size = ByteSize(dtype, ElementCount(shape));
    sparse.values =
        Tensor(dtype, shape, Buffer::View(NeedArray(static_cast<std::byte*>(p_data), size, "p_data"), size));
    sparse.indices = Tensor(DType::kInt64, Shape{0});
    auto& result = Need(out, "out");
    result = NewHandle(std::move(sparse));
  });
}

OrtStatusPtr ORT_API_CALL FillSparseTensorCoo(OrtValue* ort_value, const OrtMemoryInfo* data_mem_info,
                                              const int64_t* values_shape, size_t values_shape_len, const void* values,
                                              const int64_t* indices_data, size_t indices_num) noexcept {
  return Guard([&] {
    CheckHost(data_mem_info);
    SparseTensor sparse = NeedSparse(ort_value);
    sparse.values = Tensor(sparse.values.dtype(), ToShape(values_shape, values_shape_len, "values_shape"));
    const std::size_t count = static_cast<std::size_t>(sparse.values.count());
    if (IsString(sparse.values.dtype())) {
      const auto* texts = NeedArray(static_cast<const char* const*>(values), count, "values");
      for (std::size_t i = 0; i < count; ++i) sparse.values.data<std::string>()[i] = &Need(texts[i], "values[i]");
    } else if (sparse.values.byte_size() != 0) {
      std::memcpy(sparse.values.raw(), &Need(static_cast<const char*>(values), "values"), sparse.values.byte_size());
    }
    sparse.indices = Tensor(DType::kInt64, IndexShape(sparse, indices_num));
    if (indices_num != 0)
      std::memcpy(sparse.indices.raw(), &Need(indices_data, "indices_data"), indices_num * sizeof(std::int64_t));
    *AsValue(ort_value) = std::move(sparse);
  });
}

OrtStatusPtr ORT_API_CALL UseCooIndices(OrtValue* ort_value, int64_t* indices_data, size_t indices_num) noexcept {
  return Guard([&] {
    SparseTensor sparse = NeedSparse(ort_value);
    const Shape shape = IndexShape(sparse, indices_num);
    std::int64_t* data = NeedArray(indices_data, indices_num, "indices_data");
    sparse.indices = Tensor(DType::kInt64, shape, Buffer::View(data, indices_num * sizeof(std::int64_t)));
    *AsValue(ort_value) = std::move(sparse);
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorFormat(const OrtValue* ort_value, enum OrtSparseFormat* out) noexcept {
  return Guard([&] {
    const bool filled = NeedSparse(ort_value).values.count() == 0 || NeedSparse(ort_value).indices.count() != 0;
    Need(out, "out") = filled ? ORT_SPARSE_COO : ORT_SPARSE_UNDEFINED;
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorValuesTypeAndShape(const OrtValue* ort_value,
                                                            OrtTensorTypeAndShapeInfo** out) noexcept {
  return Guard([&] {
    const Tensor& values = NeedSparse(ort_value).values;
    auto& result = Need(out, "out");
    result = MakeTensorInfo(values.dtype(), values.shape()).release();
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorValues(const OrtValue* ort_value, const void** out) noexcept {
  return Guard([&] {
    const Tensor& values = NeedSparse(ort_value).values;
    if (IsString(values.dtype()))
      Fail(Code::kInvalidArgument, "sparse tensor: expected values of a fixed size, found strings");
    Need(out, "out") = values.raw();
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorIndicesTypeShape(const OrtValue* ort_value,
                                                          enum OrtSparseIndicesFormat indices_format,
                                                          OrtTensorTypeAndShapeInfo** out) noexcept {
  return Guard([&] {
    auto info = MakeTensorInfo(DType::kInt64, NeedSparse(ort_value).indices.shape());
    info->element_type = ElementTypeOf(indices_format);
    auto& result = Need(out, "out");
    result = info.release();
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorIndices(const OrtValue* ort_value, enum OrtSparseIndicesFormat indices_format,
                                                 size_t* num_indices, const void** indices) noexcept {
  return Guard([&] {
    const Tensor& tensor = NeedSparse(ort_value).indices;
    ElementTypeOf(indices_format);
    Need(num_indices, "num_indices") = static_cast<std::size_t>(tensor.count());
    Need(indices, "indices") = tensor.raw();
  });
}

}  // namespace sardonyx::capi
