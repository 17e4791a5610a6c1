// ir/text_lexer.cpp - reads tokens. Characters are classified as ASCII, whatever the locale.
#include "ir/text_lexer.h"

#include <algorithm>

namespace sardonyx {
namespace {

constexpr std::size_t kExcerpt = 24;  // of what is found, so many characters are shown

bool IsBlank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsNamePart(char c) { return IsLetter(c) || IsDigit(c) || c == '_'; }

bool IsFloatWord(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  return word == "inf" || word == "infinity" || word == "nan";
}

}  // namespace

void TextLexer::SkipBlanks() {
  while (at_ < text_.size()) {
    if (text_[at_] == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (IsBlank(text_[at_])) {
      ++at_;
    } else {
      return;
    }
  }
}

char TextLexer::Peek() {
  SkipBlanks();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool TextLexer::AtEnd() {
  SkipBlanks();
  return at_ == text_.size();
}

std::size_t TextLexer::Position() {
  SkipBlanks();
  return at_;
}

bool TextLexer::Take(char c) {
  if (AtEnd() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void TextLexer::Expect(char c, const char* context) {
  if (!Take(c)) FailExpecting("'" + std::string(1, c) + "' " + context);
}

void TextLexer::ExpectArrow() {
  SkipBlanks();
  if (text_.substr(at_, 2) != "=>") FailExpecting("'=>' and the outputs");
  at_ += 2;
}

bool TextLexer::NextIsName() {
  const char c = Peek();
  return IsLetter(c) || c == '_';
}

std::string TextLexer::PeekName() {
  if (!NextIsName()) return {};
  std::size_t end = at_;
  while (end < text_.size() && IsNamePart(text_[end])) ++end;
  return std::string(text_.substr(at_, end - at_));
}

std::string TextLexer::TakeName() {
  std::string name = PeekName();
  at_ += name.size();
  return name;
}

std::string TextLexer::Name(const char* what) {
  std::string name = TakeName();
  if (name.empty()) FailExpecting(what);
  return name;
}

std::string TextLexer::QuotableName(const char* what) {
  if (Peek() != '"') return Name(what);
  std::string name;
  TakeString(name);
  return name;
}

bool TextLexer::NextIsFloatWord() { return IsFloatWord(PeekName()); }

void TextLexer::TakeString(std::string& value) {
  const std::size_t begin = at_++;
  for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] == '\\' && ++at_ == text_.size()) break;
    value += text_[at_];
  }
  if (at_ == text_.size()) FailAt(begin, "expected a string that ends in '\"', found the end of the text");
  ++at_;
}

void TextLexer::TakeNumber(Literal& literal, const char* what) {
  std::size_t end = at_;
  if (text_[end] == '-') ++end;
  if (end < text_.size() && IsLetter(text_[end])) {
    const std::size_t word = end;
    while (end < text_.size() && IsNamePart(text_[end])) ++end;
    if (!IsFloatWord(std::string(text_.substr(word, end - word)))) FailExpecting(what);
    literal.kind = Literal::Kind::kFloat;
  } else {
    const std::size_t digits = end;
    while (end < text_.size() && IsDigit(text_[end])) ++end;
    if (end == digits) FailExpecting(what);
    if (end < text_.size() && text_[end] == '.') {
      literal.kind = Literal::Kind::kFloat;
      ++end;
      while (end < text_.size() && IsDigit(text_[end])) ++end;
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      literal.kind = Literal::Kind::kFloat;
      ++end;
      if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      const std::size_t exponent = end;
      while (end < text_.size() && IsDigit(text_[end])) ++end;
      if (end == exponent) FailExpecting("a number with digits in its exponent");
    }
  }
  literal.text = text_.substr(at_, end - at_);
  at_ = end;
}

Literal TextLexer::TakeLiteral(const char* what) {
  Literal literal;
  literal.at = Position();
  if (at_ == text_.size()) FailExpecting(what);
  if (text_[at_] == '"') {
    literal.kind = Literal::Kind::kString;
    TakeString(literal.text);
  } else {
    TakeNumber(literal, what);
  }
  return literal;
}

std::string TextLexer::String(const char* what) {
  if (Peek() != '"') FailExpecting(what);
  std::string value;
  TakeString(value);
  return value;
}

std::string TextLexer::Excerpt(std::size_t at) const {
  if (at >= text_.size()) return "the end of the text";
  std::size_t end = at + 1;
  if (IsNamePart(text_[at]) || text_[at] == '-') {
    while (end < text_.size() && (IsNamePart(text_[end]) || text_[end] == '.')) ++end;
  } else if (text_[at] == '"') {
    end = std::min(text_.find_first_of("\"\n", end), text_.size());
    if (end < text_.size() && text_[end] == '"') ++end;
  } else {
    while (end < text_.size() && (static_cast<unsigned char>(text_[end]) & 0xc0u) == 0x80u) ++end;  // one of UTF-8
  }
  if (end - at <= kExcerpt) return "'" + std::string(text_.substr(at, end - at)) + "'";
  return "'" + std::string(text_.substr(at, kExcerpt)) + "...'";
}

void TextLexer::FailExpecting(const std::string& expected, std::size_t at) const {
  FailAt(at, "expected " + expected + ", found " + Excerpt(at));
}

void TextLexer::FailAt(std::size_t at, const std::string& message, Code code) const {
  const std::string_view before = text_.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = at - (start == std::string_view::npos ? 0 : start + 1) + 1;
  Fail(code, "line ", line, ", column ", column, ": ", message);
}

}  // namespace sardonyx
