// base/readable_text.cpp - escapes and shortens text: a name of a megabyte, or one with control codes for the terminal,
// may be an attack.
#include "base/readable_text.h"

#include <algorithm>
#include <cstddef>

namespace sardonyx {
namespace {

constexpr std::size_t kLongestQuoted = 300, kLongest = 4000;

// Bytes of the UTF-8 character that `text` begins with; 0 if it begins with none, or with a control character.
std::size_t CharacterLength(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const unsigned second = byte(1);  // too long forms, surrogates, beyond U+10FFFF, and the C1 controls
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) || (first == 0xF0 && second < 0x90) ||
      (first == 0xF4 && second >= 0x90) || (first == 0xC2 && second < 0xA0))
    return 0;
  return length;
}

std::string Escape(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string escaped;
  escaped.reserve(text.size());
  while (!text.empty()) {
    const bool stays = text[0] == '\n' || text[0] == '\t';
    const std::size_t length = stays ? 1 : CharacterLength(text);
    if (length == 0) {
      const auto byte = static_cast<unsigned char>(text[0]);
      escaped += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
    } else {
      escaped += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return escaped;
}

// The beginning and the end of `text`, whole characters, in about `most` bytes.
std::string Shorten(std::string_view text, std::size_t most) {
  const auto is_inside = [&](std::size_t i) { return (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80; };
  std::size_t head = most * 3 / 4, tail = text.size() - most / 8;
  while (head > 0 && is_inside(head)) --head;
  while (tail < text.size() && is_inside(tail)) ++tail;
  return std::string(text.substr(0, head)) + " ... (" + std::to_string(tail - head) + " bytes) ... " +
         std::string(text.substr(tail));
}

std::string ShortenQuoted(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\''), text.size());
    result += end > kLongestQuoted ? Shorten(text.substr(0, end), kLongestQuoted) : std::string(text.substr(0, end));
    if (end < text.size()) result += '\'';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace

std::string ReadableText(std::string_view text) {
  std::string readable = Escape(text);
  if (readable.size() > kLongest) readable = ShortenQuoted(readable);
  return readable.size() > kLongest ? Shorten(readable, kLongest) : readable;
}

}  // namespace sardonyx
