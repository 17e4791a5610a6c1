// ops/text/utf8_case.h - upper and lower case of UTF-8 text, independent of the locales that a system has.
//
// Letters are mapped one by one (the simple mappings of Unicode), as C's towupper and towlower do it in the locale
// en_US: a text keeps its number of letters, so the sharp s has no upper case, and the sigma at the end of a word has
// the upper case of every other sigma and comes back as one. What is not UTF-8 stays.
#pragma once

#include <string>
#include <string_view>

namespace sardonyx::ops {

// Which letters have another case. Turkish and Azeri write i without its dot as a letter of its own: their i becomes a
// capital with a dot, and their I a small one without.
enum class Letters { kAll, kAscii, kTurkic };
std::string ToUpper(std::string_view text, Letters letters = Letters::kAll);
std::string ToLower(std::string_view text, Letters letters = Letters::kAll);

// The letters of a locale, such as "en_US.UTF-8", "tr_TR" or "az-AZ". Those of ASCII for "C" and "POSIX".
Letters LettersOf(std::string_view locale);

}  // namespace sardonyx::ops
