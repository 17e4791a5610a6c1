// tests/fuzz/proto_tree.h - a protobuf message, valid or not, as a tree that can be changed and written again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sardonyx::fuzz {

// What a field holds. The kinds of messages are rows of the table in proto_tree.cpp.
enum class Kind : std::uint8_t {
  kNumber,   // varint, fixed32 or fixed64
  kText,     // names, op_types
  kBytes,    // anything of a length that is not looked into
  kNumbers,  // packed varints
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparse,
  kValueInfo,
  kType,
  kTensorType,
  kShape,
  kDim,
  kElementType,  // SequenceTypeProto, OptionalTypeProto
  kFunction,
  kOpset,
};

struct Field {
  std::uint32_t tag = 0;
  std::uint8_t wire = 0;  // protobuf's wire type
  Kind kind = Kind::kBytes;
  std::uint64_t number = 0;
  std::string bytes;                   // kText, kBytes
  std::vector<std::uint64_t> numbers;  // kNumbers
  std::vector<Field> fields;           // messages

  bool is_message() const { return kind >= Kind::kModel; }
  Field* Find(std::uint32_t wanted);
  // The number or text of a field of this message; 0 and "" where there is none.
  std::uint64_t NumberAt(std::uint32_t wanted) const;
  std::string TextAt(std::uint32_t wanted) const;
  Field& Add(std::uint32_t wanted, Kind what);
  void SetNumber(std::uint32_t wanted, std::uint64_t value);
  void SetBytes(std::uint32_t wanted, std::string value, Kind what);
  void Remove(std::uint32_t wanted);
};

// False if the bytes are no message; what could be read is kept.
bool Parse(std::string_view bytes, Kind kind, Field& to, int depth = 0);
std::string Serialize(const Field& message);

}  // namespace sardonyx::fuzz
