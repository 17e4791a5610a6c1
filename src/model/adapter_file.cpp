// model/adapter_file.cpp - reads and writes LoRA adapters with FlatBuffers, whose verifier runs before anything is
// read.
#include "model/adapter_file.h"

#include <cstring>
#include <set>

#include "adapter_generated.h"
#include "base/error.h"
#include "base/mapped_file.h"
#include "base/shape.h"

namespace sardonyx::model {
namespace {

namespace format = adapter_format;

constexpr int kFormatVersion = 1;
constexpr int kLastType = static_cast<int>(format::ElementType::MAX);  // numbered as DType is

DType TypeOf(const format::Parameter& parameter, const std::string& name) {
  const auto number = static_cast<int>(parameter.data_type());
  if (number <= 0 || number > kLastType || static_cast<DType>(number) == DType::kString)
    Fail(Code::kFail, "adapter: parameter '", name, "': expected an element type of numbers, found ", number);
  return static_cast<DType>(number);
}

Tensor ReadParameter(const format::Parameter& parameter, const std::string& name,
                     const std::shared_ptr<const void>& owner, const std::shared_ptr<Allocator>& allocator) {
  const DType dtype = TypeOf(parameter, name);
  std::vector<std::int64_t> dims;
  if (parameter.dims() != nullptr) {  // the verifier does not ask for aligned elements
    dims.resize(parameter.dims()->size());
    if (!dims.empty()) std::memcpy(dims.data(), parameter.dims()->Data(), dims.size() * sizeof(std::int64_t));
  }
  for (const std::int64_t dim : dims)
    if (dim < 0) Fail(Code::kFail, "adapter: parameter '", name, "': expected dimensions of 0 or more, found ", dim);
  const Shape shape{Dims(dims)};
  const std::size_t bytes = ByteSize(dtype, ElementCount(shape));
  const std::size_t found = parameter.raw_data() == nullptr ? 0 : parameter.raw_data()->size();
  if (found != bytes)
    Fail(Code::kFail, "adapter: parameter '", name, "': expected ", bytes, " bytes for ", Name(dtype), ToText(shape),
         ", found ", found);
  if (bytes == 0) return Tensor(dtype, shape, allocator);
  const std::uint8_t* data = parameter.raw_data()->data();
  constexpr std::uintptr_t kAlignment = 8;
  if (owner != nullptr && allocator == HostAllocator() && reinterpret_cast<std::uintptr_t>(data) % kAlignment == 0)
    return Tensor(dtype, shape, Buffer::ReadOnly(data, bytes, owner));
  Tensor copy(dtype, shape, allocator);
  std::memcpy(copy.raw(), data, bytes);
  return copy;
}

}  // namespace

Adapter ReadAdapter(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
                    const std::shared_ptr<Allocator>& allocator) {
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % alignof(std::int64_t) != 0) {  // FlatBuffers reads where it lies
    const auto aligned = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
    return ReadAdapter(*aligned, aligned, allocator);
  }
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  constexpr std::size_t kHeader = 8;  // where the root is, and the identifier
  if (bytes.size() < kHeader || !format::AdapterBufferHasIdentifier(data))
    Fail(Code::kFail, "adapter: expected a FlatBuffer with the identifier ", format::AdapterIdentifier(), ", found ",
         bytes.size(), " other bytes");
  flatbuffers::Verifier verifier(data, bytes.size());
  if (!format::VerifyAdapterBuffer(verifier))
    Fail(Code::kFail, "adapter: expected a whole FlatBuffer, found one that is damaged or cut off");
  const format::Adapter& root = *format::GetAdapter(data);
  if (root.format_version() != kFormatVersion)
    Fail(Code::kFail, "adapter: expected format version ", kFormatVersion, ", found ", root.format_version());
  Adapter adapter{root.format_version(), root.adapter_version(), root.model_version(), {}};
  std::set<std::string> names;
  for (std::size_t i = 0; root.parameters() != nullptr && i < root.parameters()->size(); ++i) {
    const format::Parameter& parameter = *root.parameters()->Get(static_cast<flatbuffers::uoffset_t>(i));
    const std::string name = parameter.name() == nullptr ? "" : parameter.name()->str();
    if (name.empty() || !names.insert(name).second)
      Fail(Code::kFail, "adapter: expected a name of its own for parameter ", i, ", found '", name, "'");
    adapter.parameters.emplace_back(name, ReadParameter(parameter, name, owner, allocator));
  }
  return adapter;
}

Adapter ReadAdapterFile(const std::string& path, const std::shared_ptr<Allocator>& allocator) {
  try {
    const std::shared_ptr<const MappedFile> file = MappedFile::Open(path);
    return ReadAdapter(file->bytes(), file, allocator);
  } catch (const Error& error) {
    const bool missing = error.code() == Code::kNoSuchFile;
    throw Error(missing ? Code::kInvalidArgument : error.code(), missing ? error.what() : path + ": " + error.what());
  }
}

std::vector<std::byte> WriteAdapter(const Adapter& adapter) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<format::Parameter>> parameters;
  for (const auto& [name, tensor] : adapter.parameters) {
    const int number = static_cast<int>(tensor.dtype());
    if (IsString(tensor.dtype()) || number > kLastType || !tensor.device().IsHost())
      Fail(Code::kNotImplemented, "adapter: parameter '", name, "': expected numbers in host memory, found ",
           Name(tensor.dtype()));
    const auto text = builder.CreateString(name);
    const Dims dims(tensor.shape());
    const auto sizes = builder.CreateVector(dims.data(), dims.size());
    builder.ForceVectorAlignment(tensor.byte_size(), sizeof(std::uint8_t), 8);
    const auto data = builder.CreateVector(static_cast<const std::uint8_t*>(tensor.raw()), tensor.byte_size());
    parameters.push_back(format::CreateParameter(builder, text, sizes, static_cast<format::ElementType>(number), data));
  }
  const auto root = format::CreateAdapter(builder, kFormatVersion, adapter.adapter_version, adapter.model_version,
                                          builder.CreateVector(parameters));
  format::FinishAdapterBuffer(builder, root);
  const auto* begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {begin, begin + builder.GetSize()};
}

}  // namespace sardonyx::model
