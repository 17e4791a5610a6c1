// model/wire.h - reads one protobuf message: its fields in order, and its place in the file for error messages.
#pragma once

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace sardonyx::model {

// What a message is part of.
struct Source {
  std::string name;             // the file, or "model" for bytes
  const char* begin = nullptr;  // where byte 0 is
};

// The fields that name a message in errors: 'enc/qk' (MatMul).
struct Label {
  std::uint32_t name = 0, kind = 0;
};

// Reads the fields of a message one after the other:  while (m.Next()) switch (m.tag()) { case kName: name = m.Text();
// ... } A field that is not read is skipped. A copy made before the first Next() reads the message again. Every
// malformed byte fails with kInvalidProtobuf, naming file, path, offset, what was expected and what was found.
class Message {
 public:
  static constexpr int kMaxDepth = 100;  // protobuf's own limit

  Message(std::string_view bytes, const Source& source) : bytes_(bytes), reader_(View(bytes)), source_(&source) {}
  // `bytes` is the contents of `field` of `parent`, which must outlive this.
  Message(const Message& parent, std::string_view bytes, const char* field, std::int64_t index = -1, Label label = {});
  // The current field as a message.
  Message Sub(const char* field, std::int64_t index = -1, Label label = {}) {
    return Message(*this, Bytes(), field, index, label);
  }

  bool Next();
  std::uint32_t tag() const { return tag_; }
  std::string_view bytes() const { return bytes_; }
  const Source& source() const { return *source_; }

  std::int64_t Int();
  float Float();
  std::string_view Bytes();
  std::string Text() { return std::string(Bytes()); }
  // A text that callers must be able to pass and messages to show: a byte of zero becomes the four characters \x00.
  std::string Name();
  // A repeated number, packed or not: the wire form of one or many elements, to be decoded by the functions below.
  std::string_view PackedVarints() { return Packed(protozero::pbf_wire_type::varint); }
  std::string_view PackedFloats() { return Packed(protozero::pbf_wire_type::fixed32); }
  std::string_view PackedDoubles() { return Packed(protozero::pbf_wire_type::fixed64); }
  void AppendInts(std::vector<std::int64_t>& to);
  void AppendFloats(std::vector<float>& to);

  // "graph.node[3] 'enc/qk' (MatMul)"; "" for the whole.
  std::string Path() const;
  template <typename... Parts>
  [[noreturn]] void Fail(Code code, const Parts&... parts) const {
    sardonyx::Fail(code, Prefix(), parts...);
  }
  // Calls f(), and puts file and path before the message of any Error that it throws. Invalid arguments come from the
  // model here, so kInvalidArgument becomes kInvalidGraph.
  template <typename F>
  auto InContext(F&& f) const -> decltype(f()) {
    try {
      return f();
    } catch (const Error& error) {
      Fail(error.code() == Code::kInvalidArgument ? Code::kInvalidGraph : error.code(), error.what());
    }
  }

 private:
  static protozero::data_view View(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
  std::string Prefix() const;
  [[noreturn]] void FailAtByte(const std::string& what) const;
  void Expect(protozero::pbf_wire_type type) const;
  std::string_view Packed(protozero::pbf_wire_type element);
  template <typename F>
  auto Guard(F&& read) -> decltype(read());

  std::string_view bytes_;
  protozero::pbf_reader reader_;
  const Source* source_;
  const Message* parent_ = nullptr;
  const char* field_ = "";
  std::int64_t index_ = -1;
  Label label_;
  int depth_ = 0;
  std::uint32_t tag_ = 0;  // protozero forgets its own in debug builds
  bool pending_ = false;   // the current field is not read yet
};

// The elements in wire form `packed`, from the field that errors call `where`; varints must have been counted, which
// also checks them.
std::size_t CountVarints(std::string_view packed, const Message& message, std::string_view where);
template <typename F>
void ForEachVarint(std::string_view packed, F&& f) {
  const char* at = packed.data();
  const char* const end = at + packed.size();
  while (at != end) f(protozero::decode_varint(&at, end));
}

}  // namespace sardonyx::model
