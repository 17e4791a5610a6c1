// optimizer/rules/rule_table.h - the rules of a pass by the operator that each begins with.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "optimizer/rules/matcher.h"

namespace sardonyx::optimizer {

// Most models meet few of the rules: one is read when the first node that it may begin with is met, once in a process.
class RuleTable {
 public:
  explicit RuleTable(std::span<const Rule> rules);

  // The rules that may begin with the node.
  std::span<const ParsedRule> For(const Node& node);

 private:
  std::unordered_map<std::string_view, std::vector<ParsedRule>> by_operator_;
};

}  // namespace sardonyx::optimizer
