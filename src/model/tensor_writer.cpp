// model/tensor_writer.cpp - writes TensorProto and SparseTensorProto.
#include <span>

#include "base/error.h"
#include "model/graph_writer.h"
#include "model/onnx_fields.h"

namespace sardonyx::model {
namespace {

void WriteHead(Writer& tensor, const Tensor& from, std::string_view name) {
  for (const std::int64_t dim : from.shape()) tensor.add_int64(TensorField::kDims, dim);
  tensor.add_int32(TensorField::kDataType, static_cast<std::int32_t>(from.dtype()));
  WriteText(tensor, TensorField::kName, name);
}

std::string_view BytesOf(const Tensor& tensor) { return {static_cast<const char*>(tensor.raw()), tensor.byte_size()}; }

template <typename T>
void WriteInts(Writer& tensor, const void* data, std::size_t bytes) {
  const std::span<const T> numbers(static_cast<const T*>(data), bytes / sizeof(T));
  tensor.add_packed_int32(TensorField::kInt32Data, numbers.begin(), numbers.end());
}

// As numbers, where ONNX has a field for those of the type; of half floats their bits. Returns whether it has one.
bool WriteNumbers(Writer& tensor, const Tensor& from) {
  const void* data = from.raw();
  const std::size_t bytes = from.byte_size();
  switch (from.dtype()) {
    case DType::kFloat: {
      const auto numbers = from.span<float>();
      tensor.add_packed_float(TensorField::kFloatData, numbers.begin(), numbers.end());
      return true;
    }
    case DType::kInt8:
      WriteInts<std::int8_t>(tensor, data, bytes);
      return true;
    case DType::kInt16:
      WriteInts<std::int16_t>(tensor, data, bytes);
      return true;
    case DType::kUInt16:
    case DType::kFloat16:
    case DType::kBFloat16:
      WriteInts<std::uint16_t>(tensor, data, bytes);
      return true;
    case DType::kInt32:
      WriteInts<std::int32_t>(tensor, data, bytes);
      return true;
    case DType::kUInt8:
    case DType::kInt4:  // two in a byte
    case DType::kUInt4:
    case DType::kFloat8E4M3FN:
    case DType::kFloat8E4M3FNUZ:
    case DType::kFloat8E5M2:
    case DType::kFloat8E5M2FNUZ:
      WriteInts<std::uint8_t>(tensor, data, bytes);
      return true;
    default:
      return false;
  }
}

}  // namespace

void GraphWriter::CheckRoom(std::size_t more) const {
  constexpr std::size_t kMost = (std::size_t{1} << 31) - (1 << 20);  // a mebibyte is left for what follows the weights
  if (out_.size() + more > kMost)
    Fail(Code::kInvalidArgument, "expected a model of less than 2 GB, found more than ", out_.size() + more,
         " bytes; save its weights as external data");
}

void GraphWriter::WriteData(Writer& tensor, const Tensor& from) {
  if (!from.device().IsHost()) Fail(Code::kInvalidArgument, "expected a tensor in host memory, found one on a device");
  if (!IsString(from.dtype())) {
    CheckRoom(from.byte_size());
    tensor.add_bytes(TensorField::kRawData, BytesOf(from).data(), from.byte_size());
    return;
  }
  for (const std::string& s : from.span<std::string>()) {
    CheckRoom(s.size());
    tensor.add_bytes(TensorField::kStringData, s);
  }
}

void GraphWriter::WriteTensor(Writer tensor, const Tensor& from, std::string_view name) {
  WriteHead(tensor, from, name);
  WriteData(tensor, from);
}

void GraphWriter::WriteSparse(Writer sparse, const SparseTensor& from, std::string_view name) {
  WriteTensor(Writer(sparse, SparseTensorField::kValues), from.values, name);
  WriteTensor(Writer(sparse, SparseTensorField::kIndices), from.indices, "");
  for (const std::int64_t dim : from.dense_shape) sparse.add_int64(SparseTensorField::kDims, dim);
}

void GraphWriter::WriteInitializer(Writer& graph, const ValueInfo& value) {
  const Initializer& initializer = *value.initializer;
  if (initializer.sparse) {
    WriteSparse(Writer(graph, GraphField::kSparseInitializer), *initializer.sparse, value.name);
    return;
  }
  const Tensor& from = initializer.tensor;
  Writer tensor(graph, GraphField::kInitializer);
  WriteHead(tensor, from, value.name);
  if (!value.is_input) {  // else they are written there
    WriteText(tensor, TensorField::kDoc, value.doc);
    WriteEntries(tensor, TensorField::kMetadata, value.metadata);
  }
  const bool may_leave = sink_ != nullptr && !IsString(from.dtype()) && from.device().IsHost();
  const std::optional<ExternalPlace> place = may_leave ? sink_->Place(value) : std::nullopt;
  if (!place) {
    const bool is_numbers = as_numbers_ != nullptr && as_numbers_->contains(value.name) && from.device().IsHost();
    if (!is_numbers || !WriteNumbers(tensor, from)) WriteData(tensor, from);
    return;
  }
  const std::pair<const char*, std::string> entries[] = {{"location", place->location},
                                                         {"offset", std::to_string(place->offset)},
                                                         {"length", std::to_string(place->length)}};
  WriteEntries(tensor, TensorField::kExternalData, entries);
  tensor.add_int32(TensorField::kDataLocation, 1);
}

}  // namespace sardonyx::model
