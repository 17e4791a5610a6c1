// model/sparse_reader.cpp - converts SparseTensorProto to SparseTensor and to a dense tensor.
#include <algorithm>
#include <cstring>

#include "model/onnx_fields.h"
#include "model/tensor_reader.h"

namespace sardonyx::model {
namespace {

// Position i of the indices [nnz] or [nnz, rank] as an index into the flattened dense tensor. Each was checked.
std::int64_t LinearIndex(const SparseTensor& sparse, std::int64_t i) {
  const auto* indices = sparse.indices.data<std::int64_t>();
  if (sparse.indices.shape().rank() == 1) return indices[i];
  const std::size_t rank = sparse.dense_shape.rank();
  std::int64_t linear = 0;
  for (std::size_t d = 0; d < rank; ++d)
    linear =
        linear * sparse.dense_shape[d] + indices[i * static_cast<std::int64_t>(rank) + static_cast<std::int64_t>(d)];
  return linear;
}

void CheckIndices(const SparseTensor& sparse, const Message& message) {
  const std::int64_t dense_count = message.InContext([&] { return ElementCount(sparse.dense_shape); });
  const Shape& shape = sparse.indices.shape();
  const auto rank = static_cast<std::int64_t>(sparse.dense_shape.rank());
  const bool linear = shape.rank() == 1, fits = linear || (shape.rank() == 2 && shape[1] == rank);
  if (sparse.indices.dtype() != DType::kInt64 || !fits || shape[0] != sparse.values.count())
    message.Fail(Code::kInvalidGraph, "expected indices of type int64[", sparse.values.count(), "] or int64[",
                 sparse.values.count(), ", ", rank, "], found ", Name(sparse.indices.dtype()), ToText(shape));
  const auto* indices = sparse.indices.data<std::int64_t>();
  // In any order, although the specification asks for ascending ones: converters write them as their libraries have
  // them.
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    for (std::int64_t d = 0; !linear && d < rank; ++d) {
      const std::int64_t index = indices[i * rank + d], end = sparse.dense_shape[static_cast<std::size_t>(d)];
      if (index < 0 || index >= end)
        message.Fail(Code::kInvalidGraph, "expected indices in [0, ", end, ") in dimension ", d, ", found ", index);
    }
    const std::int64_t at = LinearIndex(sparse, i);
    if (at < 0 || at >= dense_count)
      message.Fail(Code::kInvalidGraph, "expected indices in [0, ", dense_count, "), found ", at);
  }
}

}  // namespace

NamedSparse ReadSparseTensor(Message message, LoadContext& context) {
  NamedSparse result;
  std::vector<std::int64_t> dims;
  while (message.Next()) {
    switch (message.tag()) {
      case SparseTensorField::kValues: {
        NamedInitializer values = ReadTensor(message.Sub("values", -1, {TensorField::kName}), context);
        result.name = std::move(values.name);
        result.tensor.values = std::move(values.data.tensor);
        break;
      }
      case SparseTensorField::kIndices:
        result.tensor.indices = ReadTensor(message.Sub("indices"), context).data.tensor;
        break;
      case SparseTensorField::kDims:
        message.AppendInts(dims);
        break;
      default:
        break;
    }
  }
  SparseTensor& sparse = result.tensor;
  if (!sparse.values.defined() || !sparse.indices.defined())
    message.Fail(Code::kInvalidGraph, "expected values and indices, found ",
                 sparse.values.defined() ? "no indices" : "no values");
  if (sparse.values.shape().rank() != 1)
    message.Fail(Code::kInvalidGraph, "expected values of one dimension, found shape ", ToText(sparse.values.shape()));
  if (IsSubByte(sparse.values.dtype()))
    message.Fail(Code::kNotImplemented, "sparse tensors of ", Name(sparse.values.dtype()), " are not implemented");
  sparse.dense_shape = Shape(Dims(dims));
  CheckIndices(sparse, message);
  return result;
}

Tensor Densify(const SparseTensor& sparse) {
  // A few bytes of a file must not fill the memory.
  constexpr std::size_t kAlwaysFine = std::size_t{1} << 24, kMostTimesStored = 4096;
  const DType dtype = sparse.values.dtype();
  const std::size_t size = ByteSize(dtype, ElementCount(sparse.dense_shape));
  const std::size_t stored = sparse.values.byte_size() + sparse.indices.byte_size();
  if (size > kAlwaysFine && size / kMostTimesStored > stored)
    Fail(Code::kInvalidGraph, "expected a sparse tensor whose dense form takes at most ", kMostTimesStored,
         " times the bytes stored, found ", stored, " bytes stored and ", size, " dense for shape ",
         ToText(sparse.dense_shape));
  Tensor dense(dtype, sparse.dense_shape);
  if (IsString(dtype)) {
    for (std::int64_t i = 0; i < sparse.values.count(); ++i)
      dense.data<std::string>()[LinearIndex(sparse, i)] = sparse.values.data<std::string>()[i];
    return dense;
  }
  const auto element = static_cast<std::size_t>(Bits(dtype)) / 8;
  auto* to = static_cast<char*>(dense.raw());
  const auto* from = static_cast<const char*>(sparse.values.raw());
  if (size != 0) std::memset(to, 0, size);
  for (std::int64_t i = 0; i < sparse.values.count(); ++i)
    std::memcpy(to + static_cast<std::size_t>(LinearIndex(sparse, i)) * element,
                from + static_cast<std::size_t>(i) * element, element);
  return dense;
}

}  // namespace sardonyx::model
