// capi/sparse_tensor.cpp - sparse tensors: coordinates (COO), compressed rows (CSR), and blocks.
//
// A sparse tensor is made without a format. One call gives it its indices, and with them its format for good.
#include <cstring>
#include <span>

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

using Indices = std::span<const std::int64_t>;

bool HasFormat(const SparseTensor& sparse) { return sparse.indices.defined(); }

const SparseTensor& NeedUnfilled(const OrtValue* value) {
  const SparseTensor& sparse = NeedSparse(value);
  if (HasFormat(sparse))
    Fail(Code::kFail, "argument 'ort_value': expected a sparse tensor without indices, found one that has them");
  return sparse;
}

void CheckIndex(std::int64_t index, std::int64_t end, const char* what) {
  if (index < 0 || index >= end)
    Fail(Code::kInvalidArgument, "sparse tensor: expected ", what, " from 0 to ", end - 1, ", found ", index);
}

// Indices are linear, [count], or coordinates, [count, 2].
Shape CooShape(const SparseTensor& sparse, Indices indices) {
  const auto count = static_cast<std::int64_t>(indices.size());
  const std::int64_t values = sparse.values.count();
  if (count == values) {
    for (const std::int64_t index : indices) CheckIndex(index, ElementCount(sparse.dense_shape), "a linear index");
    return Shape{values};
  }
  if (sparse.dense_shape.rank() == 2 && count == 2 * values) {
    for (std::size_t i = 0; i < indices.size(); ++i)
      CheckIndex(indices[i], sparse.dense_shape[i % 2], i % 2 == 0 ? "a row" : "a column");
    return Shape{values, 2};
  }
  Fail(Code::kInvalidArgument, "sparse tensor: expected ", values, " linear indices or ", 2 * values,
       " coordinates of a matrix, found ", count, " numbers");
}

// A matrix without values may leave out where its rows begin.
void CheckCsr(const SparseTensor& sparse, Indices columns, Indices row_starts) {
  if (sparse.dense_shape.rank() != 2)
    Fail(Code::kFail, "sparse tensor in CSR: expected a dense shape of two dimensions, found ",
         ToText(sparse.dense_shape));
  const auto count = static_cast<std::int64_t>(columns.size());
  for (const std::int64_t column : columns) CheckIndex(column, sparse.dense_shape[1], "a column");
  std::int64_t before = 0;
  for (std::size_t i = 0; i < row_starts.size(); before = row_starts[i++]) {
    const bool fits = i == 0 ? row_starts[i] == 0 : row_starts[i] >= before && row_starts[i] <= count;
    if (!fits)
      Fail(Code::kInvalidArgument, "sparse tensor in CSR: expected row ", i, " to begin at ",
           i == 0 ? "0" : std::to_string(before) + " to " + std::to_string(count), ", found ", row_starts[i]);
  }
  if (!row_starts.empty() && before != count)
    Fail(Code::kInvalidArgument, "sparse tensor in CSR: expected the last outer index to be the number of inner ",
         "indices, ", count, ", found ", before);
  if (count != sparse.values.count())
    Fail(Code::kFail, "sparse tensor in CSR: expected ", sparse.values.count(), " inner indices, one for each value, ",
         "found ", count);
  const bool none = count == 0 && row_starts.empty();
  if (!none && static_cast<std::int64_t>(row_starts.size()) != sparse.dense_shape[0] + 1)
    Fail(Code::kFail, "sparse tensor in CSR: expected ", sparse.dense_shape[0] + 1,
         " outer indices, one more than rows, found ", row_starts.size());
}

// Values [blocks, ...] of at least three dimensions, indices [coordinates, blocks].
void CheckBlocks(const Shape& values, const Shape& indices) {
  if (ElementCount(values) == 0 && ElementCount(indices) == 0) return;
  if (values.rank() < 3)
    Fail(Code::kFail, "block-sparse tensor: expected values of three dimensions or more, found ", ToText(values));
  if (indices.rank() != 2)
    Fail(Code::kFail, "block-sparse tensor: expected indices of two dimensions, found ", ToText(indices));
  if (indices[1] != values[0])
    Fail(Code::kFail, "block-sparse tensor: expected indices for ", values[0], " blocks, as there are values, found ",
         indices[1]);
  constexpr std::int64_t kCoordinates = 2;
  if (indices[0] != kCoordinates)
    Fail(Code::kFail, "block-sparse tensor: expected 2 coordinates for each block, found ", indices[0]);
}

// A copy of the caller's values.
Tensor CopyValues(DType dtype, const Shape& shape, const void* values) {
  Tensor copy(dtype, shape);
  const auto count = static_cast<std::size_t>(copy.count());
  if (IsString(dtype)) {
    const auto* texts = NeedArray(static_cast<const char* const*>(values), count, "values");
    for (std::size_t i = 0; i < count; ++i) copy.data<std::string>()[i] = &Need(texts[i], "values[i]");
  } else if (copy.byte_size() != 0) {
    std::memcpy(copy.raw(), &Need(static_cast<const char*>(values), "values"), copy.byte_size());
  }
  return copy;
}

template <typename T>
Tensor CopyIndices(std::span<const T> indices, const Shape& shape) {
  Tensor copy(kDTypeOf<T>, shape);
  if (!indices.empty()) std::memcpy(copy.raw(), indices.data(), indices.size_bytes());
  return copy;
}

// The caller's memory, which lives as long as the tensor.
template <typename T>
Tensor ViewIndices(T* indices, const Shape& shape) {
  return Tensor(kDTypeOf<T>, shape, Buffer::View(indices, static_cast<std::size_t>(ElementCount(shape)) * sizeof(T)));
}

Shape Line(std::size_t count) { return Shape{static_cast<std::int64_t>(count)}; }

void SetCsr(SparseTensor& sparse, Tensor columns, Tensor row_starts) {
  sparse.format = SparseFormat::kCsr;
  sparse.indices = std::move(columns);
  sparse.row_starts = std::move(row_starts);
}

void CheckHost(const OrtMemoryInfo* info, const char* name) {
  if (!Need(info, name).device.IsHost())
    Fail(Code::kNotImplemented, "sparse tensor: expected values in host memory, found device memory");
}

// The indices of this kind; fails for those of another format.
const Tensor& IndicesOf(const SparseTensor& sparse, OrtSparseIndicesFormat kind) {
  if (HasFormat(sparse)) {
    if (kind == ORT_SPARSE_COO_INDICES && sparse.format == SparseFormat::kCoo) return sparse.indices;
    if (kind == ORT_SPARSE_CSR_INNER_INDICES && sparse.format == SparseFormat::kCsr) return sparse.indices;
    if (kind == ORT_SPARSE_CSR_OUTER_INDICES && sparse.format == SparseFormat::kCsr) return sparse.row_starts;
    if (kind == ORT_SPARSE_BLOCK_SPARSE_INDICES && sparse.format == SparseFormat::kBlock) return sparse.indices;
  }
  constexpr const char* kNames[] = {"COO", "CSR", "block-sparse"};
  Fail(Code::kFail, "sparse tensor: expected an OrtSparseIndicesFormat that fits its format, ",
       HasFormat(sparse) ? kNames[static_cast<int>(sparse.format)] : "undefined", ", found ", int{kind});
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
    sparse.values = Tensor(FromElementType(type, Code::kNotImplemented), Shape{0}, FromHandle(&Need(allocator, "allocator")));
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
    CheckHost(info, "info");
    const DType dtype = FromElementType(type, Code::kNotImplemented);
    if (IsString(dtype))
      Fail(Code::kInvalidArgument, "sparse tensor: expected numbers in the caller's memory, found strings");
    SparseTensor sparse;
    sparse.dense_shape = ToShape(dense_shape, dense_shape_len, "dense_shape");
    ElementCount(sparse.dense_shape);
    const Shape shape = ToShape(values_shape, values_shape_len, "values_shape");
    const std::size_t size = ByteSize(dtype, ElementCount(shape));
    sparse.values = Tensor(dtype, shape, Buffer::View(static_cast<std::byte*>(p_data), size));
    auto& result = Need(out, "out");
    result = NewHandle(std::move(sparse));
  });
}

OrtStatusPtr ORT_API_CALL FillSparseTensorCoo(OrtValue* ort_value, const OrtMemoryInfo* data_mem_info,
                                              const int64_t* values_shape, size_t values_shape_len, const void* values,
                                              const int64_t* indices_data, size_t indices_num) noexcept {
  return Guard([&] {
    CheckHost(data_mem_info, "data_mem_info");
    SparseTensor sparse = NeedUnfilled(ort_value);
    sparse.values = CopyValues(sparse.values.dtype(), ToShape(values_shape, values_shape_len, "values_shape"), values);
    const Indices indices(NeedArray(indices_data, indices_num, "indices_data"), indices_num);
    sparse.indices = CopyIndices(indices, CooShape(sparse, indices));
    *AsValue(ort_value) = std::move(sparse);
  });
}

OrtStatusPtr ORT_API_CALL FillSparseTensorCsr(OrtValue* ort_value, const OrtMemoryInfo* data_mem_info,
                                              const int64_t* values_shape, size_t values_shape_len, const void* values,
                                              const int64_t* inner_indices_data, size_t inner_indices_num,
                                              const int64_t* outer_indices_data, size_t outer_indices_num) noexcept {
  return Guard([&] {
    CheckHost(data_mem_info, "data_mem_info");
    SparseTensor sparse = NeedUnfilled(ort_value);
    sparse.values = CopyValues(sparse.values.dtype(), ToShape(values_shape, values_shape_len, "values_shape"), values);
    const Indices columns(NeedArray(inner_indices_data, inner_indices_num, "inner_indices_data"), inner_indices_num);
    const Indices rows(NeedArray(outer_indices_data, outer_indices_num, "outer_indices_data"), outer_indices_num);
    CheckCsr(sparse, columns, rows);
    SetCsr(sparse, CopyIndices(columns, Line(columns.size())), CopyIndices(rows, Line(rows.size())));
    *AsValue(ort_value) = std::move(sparse);
  });
}

OrtStatusPtr ORT_API_CALL FillSparseTensorBlockSparse(OrtValue* ort_value, const OrtMemoryInfo* data_mem_info,
                                                      const int64_t* values_shape, size_t values_shape_len,
                                                      const void* values, const int64_t* indices_shape_data,
                                                      size_t indices_shape_len, const int32_t* indices_data) noexcept {
  return Guard([&] {
    CheckHost(data_mem_info, "data_mem_info");
    SparseTensor sparse = NeedUnfilled(ort_value);
    const Shape shape = ToShape(values_shape, values_shape_len, "values_shape");
    const Shape indices_shape = ToShape(indices_shape_data, indices_shape_len, "indices_shape_data");
    const auto count = static_cast<std::size_t>(ElementCount(indices_shape));
    NeedArray(static_cast<const std::byte*>(values), static_cast<std::size_t>(ElementCount(shape)), "values");
    NeedArray(indices_data, count, "indices_data");
    CheckBlocks(shape, indices_shape);
    sparse.values = CopyValues(sparse.values.dtype(), shape, values);
    sparse.indices = CopyIndices(std::span<const std::int32_t>(indices_data, count), indices_shape);
    sparse.format = SparseFormat::kBlock;
    *AsValue(ort_value) = std::move(sparse);
  });
}

OrtStatusPtr ORT_API_CALL UseCooIndices(OrtValue* ort_value, int64_t* indices_data, size_t indices_num) noexcept {
  return Guard([&] {
    SparseTensor sparse = NeedUnfilled(ort_value);
    NeedArray(indices_data, indices_num, "indices_data");
    sparse.indices = ViewIndices(indices_data, CooShape(sparse, {indices_data, indices_num}));
    *AsValue(ort_value) = std::move(sparse);
  });
}

OrtStatusPtr ORT_API_CALL UseCsrIndices(OrtValue* ort_value, int64_t* inner_data, size_t inner_num, int64_t* outer_data,
                                        size_t outer_num) noexcept {
  return Guard([&] {
    SparseTensor sparse = NeedUnfilled(ort_value);
    NeedArray(inner_data, inner_num, "inner_data");
    NeedArray(outer_data, outer_num, "outer_data");
    CheckCsr(sparse, {inner_data, inner_num}, {outer_data, outer_num});
    SetCsr(sparse, ViewIndices(inner_data, Line(inner_num)), ViewIndices(outer_data, Line(outer_num)));
    *AsValue(ort_value) = std::move(sparse);
  });
}

OrtStatusPtr ORT_API_CALL UseBlockSparseIndices(OrtValue* ort_value, const int64_t* indices_shape,
                                                size_t indices_shape_len, int32_t* indices_data) noexcept {
  return Guard([&] {
    SparseTensor sparse = NeedUnfilled(ort_value);
    const Shape shape = ToShape(indices_shape, indices_shape_len, "indices_shape");
    NeedArray(indices_data, static_cast<std::size_t>(ElementCount(shape)), "indices_data");
    CheckBlocks(sparse.values.shape(), shape);
    sparse.indices = ViewIndices(indices_data, shape);
    sparse.format = SparseFormat::kBlock;
    *AsValue(ort_value) = std::move(sparse);
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorFormat(const OrtValue* ort_value, enum OrtSparseFormat* out) noexcept {
  return Guard([&] {
    constexpr OrtSparseFormat kFormats[] = {ORT_SPARSE_COO, ORT_SPARSE_CSRC, ORT_SPARSE_BLOCK_SPARSE};
    const SparseTensor& sparse = NeedSparse(ort_value);
    Need(out, "out") = HasFormat(sparse) ? kFormats[static_cast<int>(sparse.format)] : ORT_SPARSE_UNDEFINED;
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
    const Tensor& indices = IndicesOf(NeedSparse(ort_value), indices_format);
    auto& result = Need(out, "out");
    result = MakeTensorInfo(indices.dtype(), indices.shape()).release();
  });
}

OrtStatusPtr ORT_API_CALL GetSparseTensorIndices(const OrtValue* ort_value, enum OrtSparseIndicesFormat indices_format,
                                                 size_t* num_indices, const void** indices) noexcept {
  return Guard([&] {
    const Tensor& tensor = IndicesOf(NeedSparse(ort_value), indices_format);
    Need(num_indices, "num_indices") = static_cast<std::size_t>(tensor.count());
    Need(indices, "indices") = tensor.raw();
  });
}

}  // namespace sardonyx::capi
