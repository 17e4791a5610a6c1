// base/joined_text.h - joins texts and numbers into one text, for messages.
//
// Nearly every file makes messages, so this is compiled once: the templates only list their arguments.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>

namespace sardonyx {

// A text or a number, valid as long as the argument it was made from.
class TextPart {
 public:
  TextPart(std::string_view text) : kind_(Kind::kText), text_(text) {}
  TextPart(const std::string& text) : kind_(Kind::kText), text_(text) {}
  TextPart(const char* text) : kind_(Kind::kText), text_(text) {}
  TextPart(char character) : kind_(Kind::kCharacter), character_(character) {}
  template <typename T>
  requires std::is_arithmetic_v<T> TextPart(T number) {
    if constexpr (std::is_floating_point_v<T>) {
      kind_ = Kind::kFloat;
      float_ = static_cast<double>(number);
    } else if constexpr (std::is_signed_v<T>) {
      kind_ = Kind::kSigned;
      signed_ = number;
    } else {
      kind_ = Kind::kUnsigned;
      unsigned_ = number;
    }
  }

  void AppendTo(std::string& text) const;

 private:
  enum class Kind : unsigned char { kText, kCharacter, kSigned, kUnsigned, kFloat };
  Kind kind_;
  union {
    std::string_view text_;
    char character_;
    long long signed_;
    unsigned long long unsigned_;
    double float_;
  };
};

std::string JoinParts(const TextPart* parts, std::size_t count);

// All parts, one after the other: numbers in decimal, floating-point numbers with six digits (as "%g" writes them).
template <typename... Parts>
std::string JoinedText(const Parts&... parts) {
  const TextPart list[] = {TextPart(parts)..., TextPart("")};
  return JoinParts(list, sizeof...(parts));
}

}  // namespace sardonyx
