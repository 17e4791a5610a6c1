// base/joined_text.cpp - appends each part as text.
#include "base/joined_text.h"

#include <cstdio>

namespace sardonyx {

void TextPart::AppendTo(std::string& text) const {
  switch (kind_) {
    case Kind::kText:
      text += text_;
      break;
    case Kind::kCharacter:
      text += character_;
      break;
    case Kind::kSigned:
      text += std::to_string(signed_);
      break;
    case Kind::kUnsigned:
      text += std::to_string(unsigned_);
      break;
    case Kind::kFloat: {
      char digits[32];
      std::snprintf(digits, sizeof(digits), "%g", float_);
      text += digits;
      break;
    }
  }
}

std::string JoinParts(const TextPart* parts, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) parts[i].AppendTo(text);
  return text;
}

}  // namespace sardonyx
