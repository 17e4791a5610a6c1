// optimizer/rules/term.cpp - the parts of the rule language's parser that are needed only at run time.
#include "optimizer/rules/term.h"

#include <string>

namespace sardonyx::optimizer {

AttributeValue ValueOf(const Term::Attribute& attribute) {
  switch (attribute.kind) {
    case Term::Attribute::Kind::kInt:
      return static_cast<std::int64_t>(attribute.number);
    case Term::Attribute::Kind::kFloat:
      return static_cast<float>(attribute.number);
    case Term::Attribute::Kind::kString:
      return std::string(attribute.text);
    case Term::Attribute::Kind::kInts:
      return attribute.ints;
    case Term::Attribute::Kind::kCapture:
    case Term::Attribute::Kind::kAllOf:
      break;
  }
  return {};
}

void TermParser::Wrong(const char* expected) const {
  Fail(Code::kFail, "rule '", text_, "', column ", at_ + 1, ": expected ", expected);
}

}  // namespace sardonyx::optimizer
