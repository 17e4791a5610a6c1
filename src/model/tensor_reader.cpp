// model/tensor_reader.cpp - converts TensorProto to Tensor.
#include "model/tensor_reader.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <optional>

#include "model/compiled_file.h"
#include "model/onnx_fields.h"

namespace sardonyx::model {
namespace {

constexpr std::size_t kViewFromBytes = 4096;  // smaller tensors are copied: a view would keep the whole file mapped

// A TensorProto as it lies in the file.
struct Fields {
  std::string name, doc;
  Metadata metadata;
  std::vector<std::int64_t> dims;
  std::int64_t data_type = 0, location = 0;
  std::optional<std::string_view> raw;
  std::vector<std::string_view> floats, doubles, int32s, int64s, uint64s;  // pieces in packed wire form
  std::vector<std::string_view> strings;
  Metadata external;
};

Fields ReadFields(Message& m) {
  Fields f;
  while (m.Next()) {
    switch (m.tag()) {
      case TensorField::kName:
        f.name = m.Name();
        break;
      case TensorField::kDoc:
        f.doc = m.Text();
        break;
      case TensorField::kDims:
        m.AppendInts(f.dims);
        break;
      case TensorField::kDataType:
        f.data_type = m.Int();
        break;
      case TensorField::kFloatData:
        f.floats.push_back(m.PackedFloats());
        break;
      case TensorField::kInt32Data:
        f.int32s.push_back(m.PackedVarints());
        break;
      case TensorField::kStringData:
        f.strings.push_back(m.Bytes());
        break;
      case TensorField::kInt64Data:
        f.int64s.push_back(m.PackedVarints());
        break;
      case TensorField::kRawData:
        f.raw = m.Bytes();
        break;
      case TensorField::kDoubleData:
        f.doubles.push_back(m.PackedDoubles());
        break;
      case TensorField::kUInt64Data:
        f.uint64s.push_back(m.PackedVarints());
        break;
      case TensorField::kExternalData:
        f.external.push_back(ReadEntry(m.Sub("external_data")));
        break;
      case TensorField::kDataLocation:
        f.location = m.Int();
        break;
      case TensorField::kMetadata:
        f.metadata.push_back(ReadEntry(m.Sub("metadata_props")));
        break;
      default:
        break;
    }
  }
  return f;
}

std::string TypeText(DType dtype, Dims shape) { return std::string(Name(dtype)) + ToText(shape); }

// One tensor on its way from fields to elements.
class Decoder {
 public:
  Decoder(const Message& message, LoadContext& context, Fields fields)
      : message_(message), context_(context), fields_(std::move(fields)) {}

  void Decode(Initializer& to) {
    dtype_ = ReadDType(fields_.data_type, message_);
    shape_ = Shape(Dims(fields_.dims));
    message_.InContext([&] {
      count_ = ElementCount(shape_);
      size_ = IsString(dtype_) ? 0 : ByteSize(dtype_, count_);
    });
    if (fields_.location == 1) {
      to.tensor = FromFile(to);
    } else if (fields_.location != 0) {
      message_.Fail(Code::kInvalidGraph, "expected data_location 0 or 1, found ", fields_.location);
    } else if (IsString(dtype_)) {
      to.tensor = Strings();
    } else if (fields_.raw) {
      if (fields_.raw->size() != size_) FailSize(size_, "bytes", fields_.raw->size(), "raw_data");
      to.tensor = FromBytes(fields_.raw->data(), context_.owner, context_.mapped);
    } else {
      to.tensor = Typed();
    }
  }

 private:
  [[noreturn]] void FailSize(std::size_t wanted, const char* unit, std::size_t found, const char* where) const {
    message_.Fail(Code::kInvalidGraph, "expected ", wanted, " ", unit, " for ", TypeText(dtype_, shape_), ", found ",
                  found, " in ", where);
  }

  // `size_` bytes at `data`, which live as long as `owner`: a view of them, or a copy.
  Tensor FromBytes(const char* data, const std::shared_ptr<const void>& owner, const MappedFile* mapped) const {
    const auto alignment = static_cast<std::size_t>(std::clamp(Bits(dtype_) / 8, 1, 8));
    const bool aligned = std::bit_cast<std::uintptr_t>(data) % alignment == 0;
    const auto is_bool = [](char c) { return c == 0 || c == 1; };
    if (dtype_ == DType::kBool && !std::all_of(data, data + size_, is_bool)) return Bools(data);
    if (owner && aligned && size_ >= kViewFromBytes)
      return Tensor(dtype_, shape_, Buffer::ReadOnly(data, size_, owner));
    Tensor tensor(dtype_, shape_);
    if (size_ != 0) std::memcpy(tensor.raw(), data, size_);
    constexpr std::size_t kWorthReleasing = std::size_t{128} << 10;
    if (mapped != nullptr && size_ >= kWorthReleasing) {
      const auto* begin = static_cast<const char*>(static_cast<const void*>(mapped->bytes().data()));
      mapped->Release(static_cast<std::size_t>(data - begin), size_);
    }
    return tensor;
  }

  // Every byte but 0 is true.
  Tensor Bools(const char* data) const {
    Tensor tensor(dtype_, shape_);
    std::transform(data, data + size_, tensor.data<bool>(), [](char c) { return c != 0; });
    return tensor;
  }

  std::uint64_t Number(const std::string& key, const std::string& text) const {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || text.empty())
      message_.Fail(Code::kInvalidGraph, "expected a number of bytes as external_data '", key, "', found '", text, "'");
    return number;
  }

  // What is wrong with external data is kFail, as in ONNX Runtime. Invalid arguments are the caller's.
  Tensor FromFile(Initializer& to) const {
    try {
      return External(to);
    } catch (const Error& error) {
      sardonyx::Fail(error.code() == Code::kInvalidArgument ? error.code() : Code::kFail, error.what());
    }
  }

  Tensor External(Initializer& to) const {
    std::string location;
    std::uint64_t offset = 0, length = size_;
    for (const auto& [key, value] : fields_.external) {  // a checksum is not verified: it would read the whole file
      if (key == "location") location = value;
      if (key == "offset") offset = Number(key, value);
      if (key == "length") length = Number(key, value);
    }
    if (IsString(dtype_)) message_.Fail(Code::kInvalidGraph, "expected strings in string_data, found external data");
    if (length != size_) FailSize(size_, "bytes", length, "the external_data entry 'length'");
    const auto& tensors = context_.options.external_tensors;
    if (const auto given = tensors.find(fields_.name); given != tensors.end()) {
      const Tensor& tensor = given->second;
      if (tensor.dtype() != dtype_ || !(tensor.shape() == shape_))
        message_.Fail(Code::kInvalidArgument, "expected ", TypeText(dtype_, shape_), " as in the model, found ",
                      TypeText(tensor.dtype(), tensor.shape()), " given for it");
      to.file = location;
      return tensor;
    }
    const ExternalFiles::File& file =
        message_.InContext([&]() -> const ExternalFiles::File& { return context_.files.Find(location); });
    if (offset > file.bytes.size() || size_ > file.bytes.size() - offset)
      message_.Fail(Code::kInvalidGraph, "expected ", size_, " bytes for ", TypeText(dtype_, shape_), " at offset ",
                    offset, " of '", file.path, "', found a file of ", file.bytes.size(), " bytes", PointerHint(file));
    if (location != kInThisFile) {
      to.file = file.path;
      to.offset = offset;
      to.length = size_;
    }
    const auto* begin = static_cast<const char*>(static_cast<const void*>(file.bytes.data()));
    return FromBytes(begin + offset, file.owner, file.mapped);
  }

  static const char* PointerHint(const ExternalFiles::File& file) {
    constexpr std::string_view kStart = "version https://git-lfs";
    const bool pointer =
        file.bytes.size() > kStart.size() && std::memcmp(file.bytes.data(), kStart.data(), kStart.size()) == 0;
    return pointer ? ": a Git LFS pointer, not the file itself (fetch it with 'git lfs pull')" : "";
  }

  Tensor Strings() const {
    if (fields_.raw) message_.Fail(Code::kInvalidGraph, "expected strings in string_data, found raw_data");
    const std::size_t found = fields_.strings.size();
    if (found != static_cast<std::size_t>(count_))
      FailSize(static_cast<std::size_t>(count_), "strings", found, "string_data");
    Tensor tensor(dtype_, shape_);
    auto* to = tensor.data<std::string>();
    for (const std::string_view s : fields_.strings) *to++ = std::string(s);
    return tensor;
  }

  // Data in the typed fields; which one is a matter of the element type.
  Tensor Typed() const {
    switch (dtype_) {
      case DType::kFloat:
      case DType::kComplex64:
        return Fixed(fields_.floats, "float_data");
      case DType::kDouble:
      case DType::kComplex128:
        return Fixed(fields_.doubles, "double_data");
      case DType::kInt64:
        return Varints<std::uint64_t>(fields_.int64s, "int64_data");
      case DType::kUInt64:
        return Varints<std::uint64_t>(fields_.uint64s, "uint64_data");
      case DType::kUInt32:
        return Varints<std::uint32_t>(fields_.uint64s, "uint64_data");
      case DType::kInt32:
        return Varints<std::uint32_t>(fields_.int32s, "int32_data");
      default:
        break;
    }
    // Types of less than a byte lie packed in int32_data, a byte in each number.
    return Bits(dtype_) == 16 ? Varints<std::uint16_t>(fields_.int32s, "int32_data")
                              : Varints<std::uint8_t>(fields_.int32s, "int32_data");
  }

  Tensor Fixed(const std::vector<std::string_view>& pieces, const char* where) const {
    std::size_t found = 0;
    for (const std::string_view piece : pieces) found += piece.size();
    if (found != size_) FailSize(size_, "bytes", found, where);
    Tensor tensor(dtype_, shape_);
    auto* to = static_cast<char*>(tensor.raw());
    for (const std::string_view piece : pieces) {
      if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
      to += piece.size();
    }
    return tensor;
  }

  template <typename Word>
  Tensor Varints(const std::vector<std::string_view>& pieces, const char* where) const {
    std::size_t found = 0;
    for (const std::string_view piece : pieces) found += CountVarints(piece, message_, where);
    if (found != size_ / sizeof(Word)) FailSize(size_ / sizeof(Word), "numbers", found, where);
    Tensor tensor(dtype_, shape_);
    Word* to = tensor.data<Word>();
    bool fits = true;
    for (const std::string_view piece : pieces) {
      ForEachVarint(piece, [&](std::uint64_t v) {
        if constexpr (sizeof(Word) < 4) {  // written as signed or as unsigned, both are seen
          constexpr std::int64_t kRange = std::int64_t{1} << (8 * sizeof(Word));
          const auto number = static_cast<std::int64_t>(v);
          fits = fits && (dtype_ == DType::kBool || (number >= -kRange / 2 && number < kRange));
        }
        *to++ = dtype_ == DType::kBool ? Word{v != 0} : static_cast<Word>(v);
      });
    }
    if (!fits)
      message_.Fail(Code::kInvalidGraph, "expected numbers that fit in ", Name(dtype_), ", found larger ones in ",
                    where);
    return tensor;
  }

  const Message& message_;
  LoadContext& context_;
  Fields fields_;
  DType dtype_ = DType::kUndefined;
  Shape shape_;
  std::int64_t count_ = 0;
  std::size_t size_ = 0;  // bytes; 0 for strings
};

}  // namespace

DType ReadDType(std::int64_t number, const Message& message) {
  if (IsDType(number)) return static_cast<DType>(number);
  if (number == 27 || number == 28)
    message.Fail(Code::kNotImplemented, "element type ", number == 27 ? "float6e2m3" : "float6e3m2",
                 " is not implemented yet");
  message.Fail(Code::kInvalidGraph, "expected an element type from 1 to 28, found ", number);
}

std::pair<std::string, std::string> ReadEntry(Message entry) {
  std::pair<std::string, std::string> pair;
  while (entry.Next()) {
    if (entry.tag() == EntryField::kKey) pair.first = entry.Text();
    if (entry.tag() == EntryField::kValue) pair.second = entry.Text();
  }
  return pair;
}

NamedInitializer ReadTensor(Message message, LoadContext& context) {
  NamedInitializer result;
  Fields fields = ReadFields(message);
  result.name = fields.name;  // which the decoder needs too
  result.doc = std::move(fields.doc);
  result.metadata = std::move(fields.metadata);
  Decoder(message, context, std::move(fields)).Decode(result.data);
  return result;
}

}  // namespace sardonyx::model
