// ops/text/utf8_case.h - upper and lower case of UTF-8 text, independent of the locale of the process.
#pragma once

#include <string>
#include <string_view>

namespace sardonyx::ops {

// Letter by letter (simple case mapping) for Latin, Greek, Cyrillic and Armenian; all else, and what is not UTF-8,
// stays. The locale "C" knows the letters of ASCII only.
enum class Letters { kAll, kAscii };
std::string ToUpper(std::string_view text, Letters letters = Letters::kAll);
std::string ToLower(std::string_view text, Letters letters = Letters::kAll);

}  // namespace sardonyx::ops
