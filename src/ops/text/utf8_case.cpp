// ops/text/utf8_case.cpp - simple case mapping by ranges of code points (from Unicode's UnicodeData.txt).
#include "ops/text/utf8_case.h"

#include <cstdint>

namespace sardonyx::ops {
namespace {

// Upper-case letters [first, last]: lower case is `offset` further; with `step` 2, every other letter is upper case.
struct CaseRange {
  std::uint32_t first, last;
  std::int32_t offset;
  std::uint32_t step;
};

constexpr CaseRange kRanges[] = {
    {0x41, 0x5A, 32, 1},   {0xC0, 0xD6, 32, 1},    {0xD8, 0xDE, 32, 1},    {0x100, 0x12E, 1, 2},
    {0x132, 0x136, 1, 2},  {0x139, 0x147, 1, 2},   {0x14A, 0x176, 1, 2},   {0x178, 0x178, -121, 1},
    {0x179, 0x17D, 1, 2},  {0x1A0, 0x1A4, 1, 2},   {0x1AF, 0x1AF, 1, 1},   {0x1CD, 0x1DB, 1, 2},
    {0x1DE, 0x1EE, 1, 2},  {0x1F8, 0x21E, 1, 2},   {0x222, 0x232, 1, 2},   {0x386, 0x386, 38, 1},
    {0x388, 0x38A, 37, 1}, {0x38C, 0x38C, 64, 1},  {0x38E, 0x38F, 63, 1},  {0x391, 0x3A1, 32, 1},
    {0x3A3, 0x3AB, 32, 1}, {0x3D8, 0x3EE, 1, 2},   {0x400, 0x40F, 80, 1},  {0x410, 0x42F, 32, 1},
    {0x460, 0x480, 1, 2},  {0x48A, 0x4BE, 1, 2},   {0x4C1, 0x4CD, 1, 2},   {0x4D0, 0x52E, 1, 2},
    {0x531, 0x556, 48, 1}, {0x1E00, 0x1E94, 1, 2}, {0x1EA0, 0x1EFE, 1, 2}, {0xFF21, 0xFF3A, 32, 1},
};

std::uint32_t Lower(std::uint32_t c) {
  for (const CaseRange& r : kRanges)
    if (c >= r.first && c <= r.last && (c - r.first) % r.step == 0) return c + static_cast<std::uint32_t>(r.offset);
  return c;
}

std::uint32_t Upper(std::uint32_t c) {
  for (const CaseRange& r : kRanges) {
    const std::uint32_t upper = c - static_cast<std::uint32_t>(r.offset);
    if (upper >= r.first && upper <= r.last && (upper - r.first) % r.step == 0) return upper;
  }
  return c;
}

bool Continues(std::string_view text, std::size_t i) {
  return i < text.size() && (static_cast<unsigned char>(text[i]) & 0xC0) == 0x80;
}

// Only letters of one to three bytes have another case here; other bytes are copied.
// `first` is the ASCII letter from which on 26 change by 32.
template <typename Map>
std::string MapCase(std::string_view text, char first, Map&& map) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      const bool changes = static_cast<unsigned>(byte - static_cast<unsigned char>(first)) < 26;
      result += static_cast<char>(changes ? byte ^ 0x20 : byte);
      ++i;
      continue;
    }
    const auto bits = [&](std::size_t at) {
      return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at]) & 0x3F);
    };
    std::uint32_t c = byte;
    std::size_t length = 1;
    if ((byte & 0xE0) == 0xC0 && Continues(text, i + 1)) {
      c = (byte & 0x1Fu) << 6 | bits(i + 1);
      length = 2;
    } else if ((byte & 0xF0) == 0xE0 && Continues(text, i + 1) && Continues(text, i + 2)) {
      c = (byte & 0x0Fu) << 12 | bits(i + 1) << 6 | bits(i + 2);
      length = 3;
    } else if (byte >= 0x80) {
      result += text[i++];
      continue;
    }
    const std::uint32_t mapped = map(c);
    if (mapped < 0x80) {
      result += static_cast<char>(mapped);
    } else if (mapped < 0x800) {
      result += static_cast<char>(0xC0 | mapped >> 6);
      result += static_cast<char>(0x80 | (mapped & 0x3F));
    } else {
      result += static_cast<char>(0xE0 | mapped >> 12);
      result += static_cast<char>(0x80 | (mapped >> 6 & 0x3F));
      result += static_cast<char>(0x80 | (mapped & 0x3F));
    }
    i += length;
  }
  return result;
}

std::uint32_t Same(std::uint32_t c) { return c; }

}  // namespace

std::string ToUpper(std::string_view text, Letters letters) {
  return letters == Letters::kAll ? MapCase(text, 'a', Upper) : MapCase(text, 'a', Same);
}
std::string ToLower(std::string_view text, Letters letters) {
  return letters == Letters::kAll ? MapCase(text, 'A', Lower) : MapCase(text, 'A', Same);
}

}  // namespace sardonyx::ops
