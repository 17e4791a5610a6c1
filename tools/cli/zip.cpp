// tools/cli/zip.cpp - zip, the container of .npz files: reads stored and deflated entries, and writes stored ones.
#include <zlib.h>

#include <cstring>
#include <limits>

#include "ort.h"
#include "tensor_file.h"

namespace sardonyx::cli {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50;
constexpr std::uint32_t kCentral = 0x02014b50;
constexpr std::uint32_t kEnd = 0x06054b50;

[[noreturn]] void Bad(const std::string& what) { throw Failure(ORT_INVALID_ARGUMENT, "not a usable .npz: " + what); }

std::string_view Slice(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size() || size > bytes.size() - at) Bad("it is cut short");
  return bytes.substr(at, size);
}

template <typename T>
T Read(std::string_view bytes, std::uint64_t at) {
  T value;
  std::memcpy(&value, Slice(bytes, at, sizeof(T)).data(), sizeof(T));
  return value;
}

template <typename T>
void Append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

std::string Inflate(std::string_view packed, std::uint64_t size) {
  if (size / 1100 > packed.size()) Bad("an entry claims to be larger than its data can be");
  std::string out(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) Bad("zlib cannot be initialized");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  std::uint64_t packed_left = packed.size();
  std::uint64_t out_left = size;
  int state = Z_OK;
  while (state == Z_OK) {
    constexpr std::uint64_t kChunk = std::numeric_limits<std::uint32_t>::max() / 2;
    stream.avail_in = static_cast<uInt>(std::min(packed_left, kChunk));
    stream.avail_out = static_cast<uInt>(std::min(out_left, kChunk));
    packed_left -= stream.avail_in;
    out_left -= stream.avail_out;
    state = inflate(&stream, Z_NO_FLUSH);
    packed_left += stream.avail_in;
    out_left += stream.avail_out;
  }
  inflateEnd(&stream);
  if (state != Z_STREAM_END || out_left != 0) Bad("an entry's compressed data is damaged");
  return out;
}

// The sizes and the place of an entry; if they need 8 bytes, they are in its extra field.
struct Entry {
  std::uint64_t size;
  std::uint64_t packed_size;
  std::uint64_t place;
};

Entry ReadSizes(std::string_view bytes, std::uint64_t at, std::string_view extra) {
  Entry entry{Read<std::uint32_t>(bytes, at + 24), Read<std::uint32_t>(bytes, at + 20),
              Read<std::uint32_t>(bytes, at + 42)};
  for (std::uint64_t i = 0; i + 4 <= extra.size();) {
    const auto length = Read<std::uint16_t>(extra, i + 2);
    if (Read<std::uint16_t>(extra, i) == 1) {
      std::uint64_t next = i + 4;
      for (std::uint64_t* field : {&entry.size, &entry.packed_size, &entry.place}) {
        if (*field != 0xFFFFFFFF) continue;
        *field = Read<std::uint64_t>(extra, next);
        next += 8;
      }
    }
    i += 4 + std::uint64_t{length};
  }
  return entry;
}

}  // namespace

std::vector<NamedBytes> ParseZip(std::string_view bytes) {
  const std::size_t end = bytes.rfind(std::string_view("PK\x05\x06", 4));
  if (end == std::string_view::npos) Bad("it has no zip directory");
  if (Read<std::uint32_t>(bytes, end) != kEnd) Bad("its zip directory is damaged");
  std::uint64_t at = Read<std::uint32_t>(bytes, end + 16);
  std::vector<NamedBytes> entries;
  for (int left = Read<std::uint16_t>(bytes, end + 10); left > 0; --left) {
    if (Read<std::uint32_t>(bytes, at) != kCentral) Bad("its zip directory is damaged");
    const auto method = Read<std::uint16_t>(bytes, at + 10);
    const auto name_size = Read<std::uint16_t>(bytes, at + 28);
    const auto extra_size = Read<std::uint16_t>(bytes, at + 30);
    const auto comment_size = Read<std::uint16_t>(bytes, at + 32);
    const std::string name(Slice(bytes, at + 46, name_size));
    const Entry entry = ReadSizes(bytes, at, Slice(bytes, at + 46 + name_size, extra_size));
    if (Read<std::uint32_t>(bytes, entry.place) != kLocal) Bad("entry '" + name + "' is not where the directory says");
    const std::uint64_t data =
        entry.place + 30 + Read<std::uint16_t>(bytes, entry.place + 26) + Read<std::uint16_t>(bytes, entry.place + 28);
    const std::string_view packed = Slice(bytes, data, entry.packed_size);
    if (method != 0 && method != 8) Bad("entry '" + name + "' is compressed with an unknown method");
    entries.emplace_back(name, method == 0 ? std::string(packed) : Inflate(packed, entry.size));
    at += 46 + std::uint64_t{name_size} + extra_size + comment_size;
  }
  return entries;
}

std::string FormatZip(std::span<const NamedBytes> entries) {
  std::string bytes;
  std::string directory;
  for (const auto& [name, content] : entries) {
    if (bytes.size() + content.size() >= std::numeric_limits<std::uint32_t>::max() - 65536) {
      throw Failure(ORT_NOT_IMPLEMENTED,
                    "an .npz of 4 GB or more cannot be written: write to a folder (a path without a suffix)");
    }
    const auto place = static_cast<std::uint32_t>(bytes.size());
    const auto size = static_cast<std::uint32_t>(content.size());
    std::string common;  // what the local header and the directory share, from the version needed to the length of the
                         // extra field
    Append<std::uint16_t>(common, 20);
    Append<std::uint16_t>(common, 0x0800);      // names are UTF-8
    Append<std::uint16_t>(common, 0);           // stored
    Append<std::uint32_t>(common, 0x00210000);  // 1980-01-01, 00:00: equal tensors give equal files
    Append<std::uint32_t>(
        common, static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size())));
    Append<std::uint32_t>(common, size);
    Append<std::uint32_t>(common, size);
    Append<std::uint16_t>(common, static_cast<std::uint16_t>(name.size()));
    Append<std::uint16_t>(common, 0);
    Append<std::uint32_t>(bytes, kLocal);
    bytes += common + name + content;
    Append<std::uint32_t>(directory, kCentral);
    Append<std::uint16_t>(directory, 20);
    directory += common;
    directory.append(10, '\0');  // comment length, disk, attributes
    Append<std::uint32_t>(directory, place);
    directory += name;
  }
  const auto start = static_cast<std::uint32_t>(bytes.size());
  bytes += directory;
  Append<std::uint32_t>(bytes, kEnd);
  Append<std::uint32_t>(bytes, 0);
  Append<std::uint16_t>(bytes, static_cast<std::uint16_t>(entries.size()));
  Append<std::uint16_t>(bytes, static_cast<std::uint16_t>(entries.size()));
  Append<std::uint32_t>(bytes, static_cast<std::uint32_t>(directory.size()));
  Append<std::uint32_t>(bytes, start);
  Append<std::uint16_t>(bytes, 0);
  return bytes;
}

}  // namespace sardonyx::cli
