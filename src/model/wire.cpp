// model/wire.cpp - decodes the fields of a protobuf message; see wire.h.
#include "model/wire.h"

#include <cstring>

#include "base/readable_text.h"

namespace sardonyx::model {
namespace {

using protozero::pbf_wire_type;

const char* WireTypeName(pbf_wire_type type) {
  switch (type) {
    case pbf_wire_type::varint:
      return "a varint";
    case pbf_wire_type::fixed64:
      return "8 bytes";
    case pbf_wire_type::length_delimited:
      return "a length and bytes";
    case pbf_wire_type::fixed32:
      return "4 bytes";
    default:
      return "an unknown wire type";
  }
}

// The first field `tag` of a message as text, "" if there is none; for errors, so nothing is reported from here.
std::string FindText(std::string_view bytes, std::uint32_t tag) {
  if (tag == 0) return "";
  try {
    protozero::pbf_reader reader(protozero::data_view(bytes.data(), bytes.size()));
    while (reader.next()) {
      if (reader.tag() == tag && reader.wire_type() == pbf_wire_type::length_delimited) return reader.get_string();
      reader.skip();
    }
  } catch (const protozero::exception&) {
    return "";  // the message is broken before its name
  }
  return "";
}

std::string Shortened(std::string text) {
  constexpr std::size_t kMost = 200;
  if (text.size() > kMost) text.replace(kMost, std::string::npos, "...");
  return text;
}

}  // namespace

Message::Message(const Message& parent, std::string_view bytes, const char* field, std::int64_t index, Label label)
    : bytes_(bytes),
      reader_(View(bytes)),
      source_(parent.source_),
      parent_(&parent),
      field_(field),
      index_(index),
      label_(label),
      depth_(parent.depth_ + 1) {
  if (depth_ > kMaxDepth)
    parent.Fail(Code::kInvalidProtobuf, "expected messages nested at most ", kMaxDepth, " deep, found more in ", field);
}

template <typename F>
auto Message::Guard(F&& read) -> decltype(read()) {
  try {
    return read();
  } catch (const protozero::end_of_buffer_exception&) {
    FailAtByte(depth_ == 0 ? "expected more bytes, found the end of the data, which may be cut short"
                           : "expected more bytes, found the end of the message");
  } catch (const protozero::varint_too_long_exception&) {
    FailAtByte("expected a varint of at most 10 bytes, found a longer one");
  } catch (const protozero::invalid_tag_exception&) {
    FailAtByte("expected a field number, found one that protobuf does not allow");
  } catch (const protozero::unknown_pbf_wire_type_exception&) {
    FailAtByte("expected wire type 0, 1, 2 or 5, found another");
  } catch (const protozero::exception& error) {
    FailAtByte(std::string("expected a protobuf field, found ") + error.what());
  }
}

bool Message::Next() {
  return Guard([&] {
    if (pending_) reader_.skip();
    tag_ = 0;
    pending_ = reader_.next();
    tag_ = reader_.tag();
    return pending_;
  });
}

void Message::Expect(pbf_wire_type type) const {
  if (reader_.wire_type() == type) return;
  FailAtByte(std::string("expected ") + WireTypeName(type) + ", found " + WireTypeName(reader_.wire_type()));
}

std::int64_t Message::Int() {
  Expect(pbf_wire_type::varint);
  pending_ = false;
  return Guard([&] { return reader_.get_int64(); });
}

float Message::Float() {
  Expect(pbf_wire_type::fixed32);
  pending_ = false;
  return Guard([&] { return reader_.get_float(); });
}

std::string_view Message::Bytes() {
  Expect(pbf_wire_type::length_delimited);
  pending_ = false;
  return Guard([&] {
    const protozero::data_view view = reader_.get_view();
    return std::string_view(view.data(), view.size());
  });
}

std::string_view Message::Packed(pbf_wire_type element) {
  if (reader_.wire_type() == pbf_wire_type::length_delimited) {
    const std::string_view packed = Bytes();
    const std::size_t size = element == pbf_wire_type::fixed32 ? 4 : element == pbf_wire_type::fixed64 ? 8 : 1;
    if (packed.size() % size != 0)
      FailAtByte("expected packed elements of " + std::to_string(size) + " bytes, found " +
                 std::to_string(packed.size()) + " bytes in all");
    return packed;
  }
  Expect(element);
  pending_ = false;
  const char* const begin = reader_.data().data();
  Guard([&] { reader_.skip(); });
  return {begin, static_cast<std::size_t>(reader_.data().data() - begin)};
}

// Attributes of ONNX are not packed: each number has a tag of its own, and trees have 100,000 of them.
void Message::AppendInts(std::vector<std::int64_t>& to) {
  if (reader_.wire_type() == pbf_wire_type::varint) return to.push_back(Int());
  const std::string_view packed = PackedVarints();
  const std::size_t count = CountVarints(packed, *this, "field " + std::to_string(tag_));
  if (to.empty()) to.reserve(count);  // of a list in many parts, each would copy all before it
  ForEachVarint(packed, [&](std::uint64_t v) { to.push_back(static_cast<std::int64_t>(v)); });
}

void Message::AppendFloats(std::vector<float>& to) {
  if (reader_.wire_type() == pbf_wire_type::fixed32) return to.push_back(Float());
  const std::string_view packed = PackedFloats();
  const std::size_t before = to.size();
  to.resize(before + packed.size() / sizeof(float));
  if (!packed.empty()) std::memcpy(to.data() + before, packed.data(), packed.size());
}

std::size_t CountVarints(std::string_view packed, const Message& message, std::string_view where) {
  std::size_t count = 0, length = 0;
  for (const char c : packed) {
    ++length;
    if ((static_cast<unsigned char>(c) & 0x80) == 0) {
      ++count;
      length = 0;
    } else if (length == protozero::max_varint_length) {
      message.Fail(Code::kInvalidProtobuf, "expected varints of at most 10 bytes, found a longer one in ", where);
    }
  }
  if (length != 0)
    message.Fail(Code::kInvalidProtobuf, "expected whole varints, found the last one cut off in ", where);
  return count;
}

std::string Message::Name() {
  std::string name = Text();
  for (std::size_t at = name.find('\0'); at != std::string::npos; at = name.find('\0', at))
    name.replace(at, 1, "\\x00");
  return name;
}

std::string Message::Path() const {
  if (parent_ == nullptr) return "";
  std::string path = parent_->Path();
  if (!path.empty()) path += '.';
  path += field_;
  if (index_ >= 0) path += "[" + std::to_string(index_) + "]";
  const std::string name = FindText(bytes_, label_.name), kind = FindText(bytes_, label_.kind);
  if (!name.empty()) path += " '" + ReadableText(Shortened(name)) + "'";
  if (!kind.empty()) path += " (" + ReadableText(Shortened(kind)) + ")";
  return path;
}

std::string Message::Prefix() const {
  const std::string path = Path();
  return source_->name + ": " + (path.empty() ? "" : path + ": ");
}

void Message::FailAtByte(const std::string& what) const {
  const auto offset = reader_.data().data() - source_->begin;
  const std::string field = tag_ == 0 ? "" : "field " + std::to_string(tag_) + ", ";
  Fail(Code::kInvalidProtobuf, what, " (", field, "at byte ", offset, ")");
}

}  // namespace sardonyx::model
