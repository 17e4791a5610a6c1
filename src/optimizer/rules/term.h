// optimizer/rules/term.h - a parsed expression of the rule language, and its parser, which the compiler runs over every
// rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace sardonyx::optimizer {

// All text belongs to the rule, which lives as long as the program.
struct Term {
  enum class Kind : std::uint8_t {
    kAny,           // _
    kCapture,       // x
    kNumber,        // 0.5
    kNode,          // Op(a, b)
    kLike,          // $y(a, b)
    kOutput,        // y[1]
    kAlternatives,  // a | b
  };
  struct Attribute {
    enum class Kind : std::uint8_t { kInt, kFloat, kString, kInts, kCapture, kAllOf };
    Kind kind = Kind::kInt;
    std::string_view name;
    std::string_view text;  // a string, or the word behind $
    double number = 0;
    std::vector<std::int64_t> ints;
  };

  Kind kind = Kind::kAny;
  bool optional = false;     // ?x: the input may be missing; Op?(x): the node may be, and x stands in its place
  std::string_view name;     // of what is captured: x, or y in y:Op(a); what $y and y[1] refer to
  std::string_view domain;   // kNode
  std::string_view op_type;  // kNode
  double number = 0;
  std::size_t output = 0;                 // kOutput
  std::vector<Term> arguments;            // of a node, or the alternatives
  std::vector<Attribute> attributes;      // of a node
  std::vector<std::string_view> outputs;  // of a replacement's outermost node from its second on; "" where unnamed
};

AttributeValue ValueOf(const Term::Attribute& attribute);

class TermParser {
 public:
  constexpr explicit TermParser(std::string_view text) : text_(text) {}

  constexpr Term Run(std::string_view definitions) {
    Term term = ReadAlternatives();
    if (Take("->")) ReadOutputs(term);
    if (TakeWord("where")) ReadDefinitions();
    if (Peek() != '\0') Wrong("the end");
    if (!definitions.empty()) {
      text_ = definitions;
      at_ = 0;
      ReadDefinitions();
      if (Peek() != '\0') Wrong("the end");
    }
    Substitute(term, 0);
    return term;
  }

 private:
  struct Definition {
    std::string_view name;
    Term term;
  };

  // Fails with Code::kFail: rules are part of the program, so a wrong one is our mistake. A compiler that reads a rule
  // stops at this call, and shows where and why.
  [[noreturn]] void Wrong(const char* expected) const;
  static constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static constexpr bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
  static constexpr bool IsCapital(char c) { return c >= 'A' && c <= 'Z'; }

  constexpr char Peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  constexpr bool Take(std::string_view token) {
    Peek();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  constexpr void Need(const char* token) {
    if (!Take(token)) Wrong(token);
  }
  constexpr std::string_view Word() {
    Peek();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (IsLetter(text_[at_]) || IsDigit(text_[at_]) || text_[at_] == '.')) ++at_;
    if (at_ == begin) Wrong("a word");
    return text_.substr(begin, at_ - begin);
  }
  constexpr bool TakeWord(std::string_view word) {
    const std::size_t begin = at_;
    if (IsLetter(Peek()) && Word() == word) return true;
    at_ = begin;
    return false;
  }

  // Exact: a mantissa of up to 15 digits and a power of ten of up to 22 are doubles, so that one rounding is left.
  constexpr double Number(bool* real = nullptr) {
    const bool negative = Take("-");
    double mantissa = 0;
    int digits = 0, power = 0;
    bool fraction = false;
    if (!IsDigit(Peek())) Wrong("a number");
    for (; at_ < text_.size() && (IsDigit(text_[at_]) || text_[at_] == '.'); ++at_) {
      if (text_[at_] == '.') {
        fraction = true;
        continue;
      }
      mantissa = mantissa * 10 + (text_[at_] - '0');
      ++digits;
      power -= fraction ? 1 : 0;
    }
    const bool exponent = at_ < text_.size() && text_[at_] == 'e';
    if (exponent) {
      ++at_;
      const int sign = Take("-") ? -1 : 1;
      int value = 0;
      for (; at_ < text_.size() && IsDigit(text_[at_]); ++at_) value = value * 10 + (text_[at_] - '0');
      power += sign * value;
    }
    if (digits > 15 || power > 22 || power < -22) Wrong("a number of at most 15 digits and no larger power than 1e22");
    double scale = 1;
    for (int i = 0; i < (power < 0 ? -power : power); ++i) scale *= 10;
    if (real != nullptr) *real = fraction || exponent;
    const double size = power < 0 ? mantissa / scale : mantissa * scale;
    return negative ? -size : size;
  }

  constexpr Term ReadAlternatives() {
    Term first = ReadTerm();
    if (Peek() != '|') return first;
    Term all;
    all.kind = Term::Kind::kAlternatives;
    all.arguments.push_back(std::move(first));
    while (Take("|")) all.arguments.push_back(ReadTerm());
    return all;
  }

  constexpr Term ReadTerm() {
    Term term;
    if (IsDigit(Peek()) || Peek() == '-') {
      term.kind = Term::Kind::kNumber;
      term.number = Number();
      return term;
    }
    if (Take("(")) {
      term = ReadAlternatives();
      Need(")");
      return term;
    }
    if (Take("$")) {
      term.kind = Term::Kind::kLike;
      term.name = Word();
      if (Peek() != '(') Wrong("(");
      ReadArguments(term);
      return term;
    }
    term.optional = Take("?");
    term.name = Word();
    if (term.name == "_") return term;
    if (Take(":")) return ReadNamed(term.name);
    if (Peek() == '(' || text_.substr(at_, 2) == "?(") return ReadNode(term.name);
    term.kind = Term::Kind::kCapture;
    if (IsCapital(term.name[0])) Wrong("(");
    if (Take("[")) {
      term.kind = Term::Kind::kOutput;
      term.output = static_cast<std::size_t>(Number());
      Need("]");
    }
    return term;
  }

  // The term behind `y:` is one node, or alternatives that are nodes.
  constexpr Term ReadNamed(std::string_view name) {
    Term term = ReadTerm();
    if (term.kind == Term::Kind::kNode) {
      term.name = name;
    } else if (term.kind == Term::Kind::kAlternatives) {
      for (Term& each : term.arguments) {
        if (each.kind != Term::Kind::kNode) Wrong("nodes as alternatives behind a name");
        each.name = name;
      }
    } else {
      Wrong("a node behind a name");
    }
    return term;
  }

  constexpr Term ReadNode(std::string_view word) {
    Term term;
    term.kind = Term::Kind::kNode;
    const std::size_t dot = word.rfind('.');
    const bool standard = dot == std::string_view::npos;
    term.domain = standard ? std::string_view() : word.substr(0, dot);
    term.op_type = standard ? word : word.substr(dot + 1);
    term.optional = Take("?");
    ReadArguments(term);
    if (term.optional && term.arguments.empty()) Wrong("an argument that may stand in the node's place");
    return term;
  }

  constexpr void ReadArguments(Term& term) {
    Need("(");
    while (Peek() != ')' && Peek() != ';') {
      term.arguments.push_back(ReadAlternatives());
      if (!Take(",") && Peek() != ')' && Peek() != ';') Wrong("',', ';', '|' or ')'");
    }
    if (Take(";")) {
      while (Peek() != ')') {
        term.attributes.push_back(ReadAttribute());
        if (!Take(",") && Peek() != ')') Wrong("',' or ')'");
      }
    }
    Need(")");
    const bool chain = term.op_type == "Add" || term.op_type == "Mul";  // of which every order is tried
    if (term.arguments.size() > (chain ? kMaxChain : kMaxArguments)) Wrong("fewer arguments");
  }

  constexpr Term::Attribute ReadAttribute() {
    Term::Attribute attribute;
    if (Take("$")) {
      attribute.kind = Term::Attribute::Kind::kAllOf;
      attribute.text = Word();
      return attribute;
    }
    attribute.name = Word();
    Need("=");
    if (Take("$")) {
      attribute.kind = Term::Attribute::Kind::kCapture;
      attribute.text = Word();
    } else if (Take("\"")) {
      attribute.kind = Term::Attribute::Kind::kString;
      const std::size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) Wrong("'\"'");
      attribute.text = text_.substr(at_, end - at_);
      at_ = end + 1;
    } else if (Take("[")) {
      attribute.kind = Term::Attribute::Kind::kInts;
      while (Peek() != ']') {
        attribute.ints.push_back(static_cast<std::int64_t>(Number()));
        if (!Take(",") && Peek() != ']') Wrong("',' or ']'");
      }
      Need("]");
    } else {
      bool real = false;
      attribute.number = Number(&real);
      attribute.kind = real ? Term::Attribute::Kind::kFloat : Term::Attribute::Kind::kInt;
    }
    return attribute;
  }

  constexpr void ReadOutputs(Term& term) {
    if (!TakeWord("_")) Wrong("_ for the first output, which is that of the pattern");
    while (Take(",")) {
      const std::string_view name = Word();
      term.outputs.push_back(name == "_" ? std::string_view() : name);
    }
  }

  constexpr void ReadDefinitions() {
    do {
      Definition definition;
      definition.name = Word();
      Need("=");
      definition.term = ReadAlternatives();
      definitions_.push_back(std::move(definition));
    } while (Take(","));
  }

  constexpr void Substitute(Term& term, int depth) {
    if (depth > 32) Wrong("definitions that do not refer to themselves");
    if (term.kind == Term::Kind::kCapture) {
      for (const Definition& definition : definitions_) {
        if (definition.name != term.name) continue;
        Term copy = definition.term;
        Substitute(copy, depth + 1);
        term = std::move(copy);
        return;
      }
      return;
    }
    for (Term& argument : term.arguments) Substitute(argument, depth + 1);
  }

 public:
  static constexpr std::size_t kMaxArguments = 16, kMaxChain = 4;

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::vector<Definition> definitions_;
};

// `definitions`: further abbreviations, written as behind `where`.
constexpr Term ParseTerm(std::string_view text, std::string_view definitions = {}) {
  return TermParser(text).Run(definitions);
}

}  // namespace sardonyx::optimizer
