// tools/cli/tensor_proto.cpp - reads and writes ONNX's TensorProto, the format of test data (input_0.pb).
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "ort.h"
#include "tensor_file.h"

namespace sardonyx::cli {
namespace {

// Field numbers of onnx.proto.
enum Field : protozero::pbf_tag_type {
  kDims = 1,
  kDataType = 2,
  kFloatData = 4,
  kInt32Data = 5,
  kStringData = 6,
  kInt64Data = 7,
  kName = 8,
  kRawData = 9,
  kDoubleData = 10,
  kUint64Data = 11,
  kDataLocation = 14,
};

[[noreturn]] void Bad(const std::string& what) {
  throw Failure(ORT_INVALID_PROTOBUF, "not a usable TensorProto: " + what);
}

// Appends the lowest `width` bytes of each value of a repeated number, which may be packed.
template <typename T, typename GetPacked, typename GetOne>
void AppendNumbers(protozero::pbf_reader& reader, std::size_t width, std::vector<std::byte>& data, GetPacked packed,
                   GetOne one) {
  const auto append = [&](T value) {
    std::byte bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    data.insert(data.end(), bytes, bytes + width);
  };
  if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
    for (const T value : (reader.*packed)()) append(value);
  } else {
    append((reader.*one)());
  }
}

struct Message {
  HostTensor tensor;
  const ElementType* type = nullptr;
};

// Values may come before the type, so a first pass reads the dimensions and the type.
Message ReadFacts(protozero::pbf_reader reader) {
  Message message;
  while (reader.next()) {
    if (reader.tag() == kDims && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      for (const std::int64_t dim : reader.get_packed_int64()) message.tensor.shape.push_back(dim);
    } else if (reader.tag() == kDims) {
      message.tensor.shape.push_back(reader.get_int64());
    } else if (reader.tag() == kDataType) {
      const std::int32_t number = reader.get_int32();
      message.type = FindOnnxType(number);
      if (!message.type) Bad("it has the unknown element type " + std::to_string(number));
    } else if (reader.tag() == kName) {
      message.tensor.name = reader.get_string();
    } else if (reader.tag() == kDataLocation && reader.get_int32() != 0) {
      Bad("its data is in another file, which this tool does not read");
    } else if (reader.tag() != kDataLocation) {
      reader.skip();
    }
  }
  if (!message.type) Bad("it has no element type");
  message.tensor.type = message.type->type;
  return message;
}

void ReadData(protozero::pbf_reader reader, const ElementType& type, HostTensor& tensor) {
  using Reader = protozero::pbf_reader;
  const std::size_t width = type.bits < 8 ? 1 : static_cast<std::size_t>(type.bits / 8);
  auto& data = tensor.data;
  while (reader.next()) {
    switch (reader.tag()) {
      case kFloatData:
        AppendNumbers<float>(reader, 4, data, &Reader::get_packed_float, &Reader::get_float);
        break;
      case kDoubleData:
        AppendNumbers<double>(reader, 8, data, &Reader::get_packed_double, &Reader::get_double);
        break;
      case kInt32Data:
        AppendNumbers<std::int32_t>(reader, std::min<std::size_t>(width, 4), data, &Reader::get_packed_int32,
                                    &Reader::get_int32);
        break;
      case kInt64Data:
        AppendNumbers<std::int64_t>(reader, 8, data, &Reader::get_packed_int64, &Reader::get_int64);
        break;
      case kUint64Data:
        AppendNumbers<std::uint64_t>(reader, std::min<std::size_t>(width, 8), data, &Reader::get_packed_uint64,
                                     &Reader::get_uint64);
        break;
      case kStringData:
        tensor.strings.push_back(reader.get_string());
        break;
      case kRawData: {
        const auto view = reader.get_view();
        const auto* bytes = reinterpret_cast<const std::byte*>(view.data());
        data.assign(bytes, bytes + view.size());
        break;
      }
      default:
        reader.skip();
    }
  }
}

}  // namespace

HostTensor ParseTensorProto(std::string_view bytes) {
  try {
    Message message = ReadFacts(protozero::pbf_reader(bytes.data(), bytes.size()));
    ReadData(protozero::pbf_reader(bytes.data(), bytes.size()), *message.type, message.tensor);
    const std::size_t count = ElementCount(message.tensor.shape);
    const bool is_string = message.type->layout == Layout::kString;
    const std::size_t want = is_string ? count : DataSize(*message.type, count);
    const std::size_t found = is_string ? message.tensor.strings.size() : message.tensor.data.size();
    if (want != found) {
      Bad("its shape " + ShapeText(message.tensor.shape) + " needs " + std::to_string(want) +
          (is_string ? " strings" : " bytes") + ", found " + std::to_string(found));
    }
    return std::move(message.tensor);
  } catch (const protozero::exception& error) {
    Bad(std::string("it is not a protobuf: ") + error.what());
  }
}

std::string FormatTensorProto(const HostTensor& tensor) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  writer.add_packed_int64(kDims, tensor.shape.begin(), tensor.shape.end());
  writer.add_int32(kDataType, FindElementType(tensor.type).onnx);
  for (const std::string& text : tensor.strings) writer.add_bytes(kStringData, text);
  writer.add_string(kName, tensor.name);
  if (tensor.type != ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING) {
    writer.add_bytes(kRawData, reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  }
  return bytes;
}

}  // namespace sardonyx::cli
