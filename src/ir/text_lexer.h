// ir/text_lexer.h - characters, names and literals of ONNX's text syntax, with their positions for error messages.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace sardonyx {

struct Literal {
  enum class Kind { kInteger, kFloat, kString };
  Kind kind = Kind::kInteger;
  std::string text;    // a number as written, a string without quotes and escapes
  std::size_t at = 0;  // where it begins
};

class TextLexer {
 public:
  explicit TextLexer(std::string_view text) : text_(text) {}

  // The next character that is neither blank nor in a comment ('#' to the end of the line); '\0' at the end.
  char Peek();
  bool AtEnd();
  std::size_t Position();  // of the character that Peek returns
  bool Take(char c);
  void Expect(char c, const char* context);  // e.g. Expect(')', "after the inputs")
  void ExpectArrow();                        // "=>"

  bool NextIsName();                   // a letter or underscore
  std::string PeekName();              // "" if no identifier is next
  std::string TakeName();              // "" if no identifier is next
  std::string Name(const char* what);  // an identifier, or a failure
  bool NextIsQuotableName() { return NextIsName() || Peek() == '"'; }
  std::string QuotableName(const char* what);  // an identifier or a string

  bool NextIsFloatWord();  // inf, infinity or nan, in any case
  Literal TakeLiteral(const char* what);
  std::string String(const char* what);

  // Fails with "line 2, column 7: expected ..., found ...", where the text found is the one at `at` (by default the
  // next one).
  [[noreturn]] void FailExpecting(const std::string& expected) { FailExpecting(expected, Position()); }
  [[noreturn]] void FailExpecting(const std::string& expected, std::size_t at) const;
  [[noreturn]] void FailAt(std::size_t at, const std::string& message, Code code = Code::kInvalidGraph) const;

 private:
  void SkipBlanks();
  std::string Excerpt(std::size_t at) const;
  void TakeString(std::string& value);
  void TakeNumber(Literal& literal, const char* what);

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace sardonyx
