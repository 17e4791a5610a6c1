// optimizer/rules/term.cpp - reads the rule language.
#include "optimizer/rules/term.h"

#include <cctype>
#include <cstdlib>

namespace sardonyx::optimizer {
namespace {

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Term Run() {
    Term term = ReadTerm();
    Skip();
    if (at_ != text_.size()) Wrong("the end");
    return term;
  }

 private:
  [[noreturn]] void Wrong(std::string_view expected) const {
    Fail(Code::kFail, "rule '", text_, "', column ", at_ + 1, ": expected ", expected);
  }
  void Skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool Take(char c) {
    Skip();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  char Peek() {
    Skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  std::string Word() {
    Skip();
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' || text_[at_] == '.'))
      ++at_;
    if (at_ == begin) Wrong("a word");
    return std::string(text_.substr(begin, at_ - begin));
  }
  bool AtNumber() { return std::isdigit(static_cast<unsigned char>(Peek())) || Peek() == '-'; }
  double Number() {
    Skip();
    const std::string rest(text_.substr(at_));
    char* end = nullptr;
    const double value = std::strtod(rest.c_str(), &end);
    if (end == rest.c_str()) Wrong("a number");
    at_ += static_cast<std::size_t>(end - rest.c_str());
    return value;
  }

  Term ReadTerm() {
    Term term;
    if (AtNumber()) {
      term.kind = Term::Kind::kNumber;
      term.number = Number();
      return term;
    }
    term.optional = Take('?');
    term.name = Word();
    if (term.name == "_") return term;
    if (Peek() != '(') {
      term.kind = Term::Kind::kCapture;
      return term;
    }
    term.kind = Term::Kind::kNode;
    if (const auto dot = term.name.rfind('.'); dot != std::string::npos) {
      term.domain = term.name.substr(0, dot);
      term.name = term.name.substr(dot + 1);
    }
    ReadArguments(term);
    return term;
  }

  void ReadArguments(Term& term) {
    Take('(');
    while (Peek() != ')' && Peek() != ';') {
      term.arguments.push_back(ReadTerm());
      if (!Take(',') && Peek() != ')' && Peek() != ';') Wrong("',', ';' or ')'");
    }
    if (Take(';')) {
      while (Peek() != ')') {
        term.attributes.push_back(ReadAttribute());
        if (!Take(',') && Peek() != ')') Wrong("',' or ')'");
      }
    }
    if (!Take(')')) Wrong("')'");
  }

  Term::TermAttribute ReadAttribute() {
    Term::TermAttribute attribute;
    attribute.name = Word();
    if (!Take('=')) Wrong("'='");
    if (Take('$')) {
      attribute.capture = Word();
    } else if (Take('"')) {
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) Wrong("'\"'");
      attribute.value = std::string(text_.substr(at_, end - at_));
      at_ = end + 1;
    } else if (Take('[')) {
      std::vector<std::int64_t> list;
      while (Peek() != ']') {
        list.push_back(static_cast<std::int64_t>(Number()));
        if (!Take(',') && Peek() != ']') Wrong("',' or ']'");
      }
      Take(']');
      attribute.value = std::move(list);
    } else {
      const std::size_t begin = at_;
      const double value = Number();
      const bool real = text_.substr(begin, at_ - begin).find_first_of(".e") != std::string_view::npos;
      if (real) {
        attribute.value = static_cast<float>(value);
      } else {
        attribute.value = static_cast<std::int64_t>(value);
      }
    }
    return attribute;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Term ParseTerm(std::string_view text) { return Parser(text).Run(); }

}  // namespace sardonyx::optimizer
