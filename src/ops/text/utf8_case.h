// ops/text/utf8_case.h - upper and lower case of UTF-8 text, independent of any locale.
#pragma once

#include <string>
#include <string_view>

namespace sardonyx::ops {

// Letter by letter (simple case mapping) for Latin, Greek, Cyrillic and Armenian; all else, and what is not UTF-8,
// stays.
std::string ToUpper(std::string_view text);
std::string ToLower(std::string_view text);

}  // namespace sardonyx::ops
