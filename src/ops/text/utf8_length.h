// ops/text/utf8_length.h - counts and checks the characters of UTF-8 text.
#pragma once

#include <cstddef>
#include <string_view>

namespace sardonyx::ops {

// Bytes of the character that begins with `first`, in valid UTF-8.
inline std::size_t Utf8Size(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

// Characters of valid UTF-8.
std::size_t Utf8Length(std::string_view text);

// False for broken or overlong sequences, surrogates and what lies beyond U+10FFFF.
bool IsUtf8(std::string_view text);

}  // namespace sardonyx::ops
