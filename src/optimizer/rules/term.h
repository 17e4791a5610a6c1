// optimizer/rules/term.h - a parsed expression of the rule language.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace sardonyx::optimizer {

struct Term {
  enum class Kind { kCapture, kAny, kNumber, kNode };
  Kind kind = Kind::kAny;
  bool optional = false;  // ?x
  std::string name;       // capture: its word; node: op_type
  std::string domain;     // node
  double number = 0;
  std::vector<Term> arguments;
  struct TermAttribute {
    std::string name;
    std::string capture;  // $name, else `value`
    AttributeValue value;
  };
  std::vector<TermAttribute> attributes;
};

// Fails with Code::kFail: rules are part of the program, a wrong one is our mistake.
Term ParseTerm(std::string_view text);

}  // namespace sardonyx::optimizer
