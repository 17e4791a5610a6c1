// ops/text/utf8_case.cpp - maps the case of UTF-8 text letter by letter, with the tables of utf8proc.
#include "ops/text/utf8_case.h"

#include <utf8proc.h>

#include <cstdint>

namespace sardonyx::ops {
namespace {

using CodePoint = utf8proc_int32_t;

constexpr CodePoint kCapitalDottedI = 0x130, kSmallDotlessI = 0x131, kSharpS = 0xDF;

// Unicode has no capital letter for the sharp s among its simple mappings. utf8proc takes U+1E9E nevertheless.
CodePoint Upper(CodePoint c, Letters letters) {
  if (c == kSharpS) return c;
  return c == 'i' && letters == Letters::kTurkic ? kCapitalDottedI : utf8proc_toupper(c);
}

CodePoint Lower(CodePoint c, Letters letters) {
  return c == 'I' && letters == Letters::kTurkic ? kSmallDotlessI : utf8proc_tolower(c);
}

void Append(CodePoint c, std::string& text) {
  utf8proc_uint8_t bytes[4];
  text.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(utf8proc_encode_char(c, bytes)));
}

// `first` is the letter of ASCII from which on 26 change by 32.
template <typename Map>
std::string MapCase(std::string_view text, Letters letters, char first, Map&& map) {
  std::string result;
  result.reserve(text.size());
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  for (std::size_t i = 0; i < text.size();) {
    const utf8proc_uint8_t byte = bytes[i];
    if (letters == Letters::kAscii || (byte < 0x80 && letters == Letters::kAll)) {
      const bool changes = static_cast<unsigned>(byte - static_cast<unsigned char>(first)) < 26;
      result += static_cast<char>(changes ? byte ^ 0x20 : byte);
      ++i;
      continue;
    }
    CodePoint c = 0;
    const utf8proc_ssize_t size = utf8proc_iterate(bytes + i, static_cast<utf8proc_ssize_t>(text.size() - i), &c);
    if (size < 1) {
      result += text[i++];
      continue;
    }
    Append(map(c, letters), result);
    i += static_cast<std::size_t>(size);
  }
  return result;
}

}  // namespace

std::string ToUpper(std::string_view text, Letters letters) { return MapCase(text, letters, 'a', Upper); }
std::string ToLower(std::string_view text, Letters letters) { return MapCase(text, letters, 'A', Lower); }

Letters LettersOf(std::string_view locale) {
  const std::string_view language = locale.substr(0, locale.find_first_of("_.@-"));
  if (locale == "C" || locale == "POSIX") return Letters::kAscii;
  return language == "tr" || language == "az" ? Letters::kTurkic : Letters::kAll;
}

}  // namespace sardonyx::ops
