// model/compiled_file.cpp - writes compiled models, and reads them with every offset checked.
#include "model/compiled_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <utility>

#include "base/error.h"
#include "model/external_sink.h"
#include "model/save.h"
#include "model/wire.h"

namespace sardonyx::model {
namespace {

using Writer = protozero::pbf_writer;

constexpr std::string_view kMagic = "SDXMODEL";
constexpr std::uint32_t kFormat = 1;  // raised when older versions of the library could not read the file

// All numbers are little-endian, as every machine that we run on has them.
struct Header {
  char magic[8] = {};
  std::uint32_t format = kFormat;
  std::uint32_t reserved = 0;
  std::uint64_t file_bytes = 0;
  std::uint64_t model_at = 0, model_bytes = 0;
  std::uint64_t table_at = 0, table_bytes = 0;
  Digest digest = {};  // of the header without it, the model and the table
  char room[56] = {};
};
static_assert(sizeof(Header) == 128);

struct TableField {
  enum : std::uint32_t { kPackedFor = 1, kNode };
};
struct PackedField {
  enum : std::uint32_t { kKey = 1, kTensor };
};
struct PlaceField {
  enum : std::uint32_t { kDType = 1, kDims, kOffset };
};

std::string_view Chars(const void* data, std::size_t size) { return {static_cast<const char*>(data), size}; }

std::string_view BytesOf(const Tensor& tensor) { return Chars(tensor.raw(), tensor.byte_size()); }

Digest DigestOfParts(Header header, std::string_view model, std::string_view table) {
  header.digest = {};
  const Digest digests[] = {DigestOf(std::as_bytes(std::span(&header, 1))), DigestOf(std::as_bytes(std::span(model))),
                            DigestOf(std::as_bytes(std::span(table)))};
  return DigestOf(std::as_bytes(std::span(digests)));
}

// Gives every tensor its place in the file; tensors with the same bytes in memory share one.
class Places {
 public:
  std::uint64_t Of(const Tensor& tensor) {
    constexpr std::uint64_t kLine = 64, kPage = 4096, kLarge = std::uint64_t{1} << 20;
    const auto known = by_data_.find({tensor.raw(), tensor.byte_size()});
    if (known != by_data_.end()) return known->second;
    const std::uint64_t alignment = tensor.byte_size() >= kLarge ? kPage : kLine;
    end_ += (alignment - end_ % alignment) % alignment;
    const std::uint64_t at = end_;
    all_.emplace_back(at, BytesOf(tensor));
    by_data_.emplace(std::pair(tensor.raw(), tensor.byte_size()), at);
    end_ += tensor.byte_size();
    return at;
  }
  std::uint64_t end() const { return end_; }
  const std::vector<std::pair<std::uint64_t, std::string_view>>& all() const { return all_; }

 private:
  std::uint64_t end_ = sizeof(Header);
  std::vector<std::pair<std::uint64_t, std::string_view>> all_;
  std::map<std::pair<const void*, std::size_t>, std::uint64_t> by_data_;
};

class PlacesSink final : public ExternalSink {
 public:
  explicit PlacesSink(Places& places) : places_(places) {}
  std::optional<ExternalPlace> Place(const ValueInfo& value) override {
    constexpr std::size_t kLeast = 1024;
    const Tensor& tensor = value.initializer->tensor;
    if (tensor.byte_size() < kLeast) return std::nullopt;
    return ExternalPlace{std::string(kInThisFile), places_.Of(tensor), tensor.byte_size()};
  }

 private:
  Places& places_;
};

std::string TableBytes(const CompiledParts& parts, Places& places) {
  std::string bytes;
  Writer table(bytes);
  table.add_string(TableField::kPackedFor, parts.packed_for);
  for (const PackedNode& node : parts.nodes) {
    Writer one(table, TableField::kNode);
    const std::string_view key = Chars(&node.key, sizeof node.key);
    one.add_bytes(PackedField::kKey, key.data(), key.size());
    for (const Tensor& tensor : node.tensors) {
      Writer place(one, PackedField::kTensor);
      place.add_int64(PlaceField::kDType, static_cast<std::int64_t>(tensor.dtype()));
      for (const std::int64_t dim : tensor.shape()) place.add_int64(PlaceField::kDims, dim);
      place.add_int64(PlaceField::kOffset, static_cast<std::int64_t>(places.Of(tensor)));
    }
  }
  return bytes;
}

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner, const std::string& name)
      : bytes_(bytes), owner_(owner), source_{name, nullptr} {}

  CompiledFile Read() {
    Header header;
    if (bytes_.size() < sizeof header) Fail("expected ", sizeof header, " bytes or more, found ", bytes_.size());
    std::memcpy(&header, bytes_.data(), sizeof header);
    if (header.format != kFormat)
      sardonyx::Fail(Code::kNotImplemented, source_.name, ": expected a compiled model of format ", kFormat,
                     ", found format ", header.format, ": compile the model again with this version of Sardonyx");
    if (header.file_bytes != bytes_.size()) Fail("expected ", header.file_bytes, " bytes, found ", bytes_.size());
    CompiledFile file;
    file.model = Part(header.model_at, header.model_bytes, "model");
    const std::string_view table = Part(header.table_at, header.table_bytes, "table of packed weights");
    if (DigestOfParts(header, file.model, table) != header.digest)
      Fail("expected the checksum of its header, found another");
    source_.begin = table.data();
    for (Message m(table, source_); m.Next();) {
      if (m.tag() == TableField::kPackedFor) file.parts.packed_for = m.Text();
      if (m.tag() == TableField::kNode) file.parts.nodes.push_back(Node(m.Sub("node")));
    }
    return file;
  }

 private:
  template <typename... Texts>
  [[noreturn]] void Fail(const Texts&... texts) const {
    sardonyx::Fail(Code::kInvalidProtobuf, source_.name, ": the compiled model is damaged: ", texts...);
  }

  std::string_view Part(std::uint64_t at, std::uint64_t size, const char* what) const {
    if (at > bytes_.size() || size > bytes_.size() - at)
      Fail("expected its ", what, " within ", bytes_.size(), " bytes, found ", size, " bytes at ", at);
    return Chars(bytes_.data(), bytes_.size()).substr(at, size);
  }

  PackedNode Node(Message m) const {
    PackedNode node;
    while (m.Next()) {
      if (m.tag() == PackedField::kKey) {
        const std::string_view key = m.Bytes();
        if (key.size() != sizeof node.key) Fail("expected keys of ", sizeof node.key, " bytes, found ", key.size());
        std::memcpy(node.key.data(), key.data(), sizeof node.key);
      }
      if (m.tag() == PackedField::kTensor) node.tensors.push_back(Placed(m.Sub("tensor")));
    }
    return node;
  }

  Tensor Placed(Message m) const {
    std::int64_t number = 0, offset = 0;
    std::vector<std::int64_t> dims;
    while (m.Next()) {
      if (m.tag() == PlaceField::kDType) number = m.Int();
      if (m.tag() == PlaceField::kDims) m.AppendInts(dims);
      if (m.tag() == PlaceField::kOffset) offset = m.Int();
    }
    if (!IsDType(number) || IsString(static_cast<DType>(number)) || offset < 0 || offset % 64 != 0)
      Fail("expected numbers at a multiple of 64 bytes, found element type ", number, " at ", offset);
    const auto dtype = static_cast<DType>(number);
    const Shape shape{Dims(dims)};
    const std::size_t size = m.InContext([&] { return ByteSize(dtype, ElementCount(shape)); });
    const std::string_view data = Part(static_cast<std::uint64_t>(offset), size, "packed weights");
    return Tensor(dtype, shape, Buffer::ReadOnly(data.data(), size, owner_));
  }

  std::span<const std::byte> bytes_;
  const std::shared_ptr<const void>& owner_;
  Source source_;
};

}  // namespace

bool IsCompiledModel(std::string_view bytes) { return bytes.starts_with(kMagic); }

void WriteCompiled(const Model& model, const CompiledParts& parts, FunctionRef<void(std::string_view)> write) {
  Places places;
  PlacesSink sink(places);
  const std::string proto = SaveBytes(model, &sink);
  const std::string table = TableBytes(parts, places);
  Header header;
  std::copy(kMagic.begin(), kMagic.end(), header.magic);
  header.model_at = places.end();
  header.model_bytes = proto.size();
  header.table_at = header.model_at + proto.size();
  header.table_bytes = table.size();
  header.file_bytes = header.table_at + table.size();
  header.digest = DigestOfParts(header, proto, table);
  write(Chars(&header, sizeof header));
  std::uint64_t at = sizeof header;
  for (const auto& [begin, bytes] : places.all()) {
    if (begin != at) write(std::string(begin - at, '\0'));
    write(bytes);
    at = begin + bytes.size();
  }
  write(proto);
  write(table);
}

CompiledFile ReadCompiled(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner,
                          const std::string& name) {
  return Reader(bytes, owner, name).Read();
}

}  // namespace sardonyx::model
