// ops/text/utf8_length.cpp - counts and checks the characters of UTF-8 text.
#include "ops/text/utf8_length.h"

namespace sardonyx::ops {

std::size_t Utf8Length(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
  return count;
}

bool IsUtf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) {
      ++i;
      continue;
    }
    const std::size_t size = Utf8Size(text[i]);
    if (first < 0xC2 || first > 0xF4 || text.size() - i < size) return false;
    for (std::size_t k = 1; k < size; ++k)
      if ((static_cast<unsigned char>(text[i + k]) & 0xC0) != 0x80) return false;
    // The second byte tells overlong forms (E0, F0), surrogates (ED) and numbers beyond the last (F4).
    const auto second = static_cast<unsigned char>(text[i + 1]);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
        (first == 0xF4 && second > 0x8F)) {
      return false;
    }
    i += size;
  }
  return true;
}

}  // namespace sardonyx::ops
