// optimizer/rules/rule_table.cpp - sorts the rules of a pass and reads their expressions.
#include "optimizer/rules/rule_table.h"

#include <array>
#include <map>
#include <mutex>

namespace sardonyx::optimizer {
namespace {

void CollectValues(const Term& term, std::vector<std::string_view>& names) {
  if (term.kind == Term::Kind::kCapture) names.push_back(term.name);
  for (const Term& argument : term.arguments) CollectValues(argument, names);
}

RuleText Read(const Rule& rule) {
  RuleText text;
  text.match = ParseTerm(rule.match.text, rule.match.definitions);
  text.replace = ParseTerm(rule.replace.text, rule.replace.definitions);
  text.kept = text.replace.outputs;
  CollectValues(text.replace, text.kept);
  return text;
}

// What a rule's expressions say, read once: in small models this was a quarter of creating a session. Expressions are
// string literals (their constructor is consteval), so equal addresses mean equal texts as long as the library is
// loaded. The result is never changed and lives as long.
const RuleText* TextOf(const Rule& rule) {
  static std::mutex mutex;
  static std::map<std::array<const char*, 4>, RuleText> texts;
  const std::lock_guard lock(mutex);
  const std::array key = {rule.match.text.data(), rule.match.definitions.data(), rule.replace.text.data(),
                          rule.replace.definitions.data()};
  const auto found = texts.find(key);
  return found != texts.end() ? &found->second : &texts.emplace(key, Read(rule)).first->second;
}

}  // namespace

RuleTable::RuleTable(std::span<const Rule> rules) {
  for (const Rule& rule : rules)
    for (const std::string_view op_type : rule.match.roots)
      if (!op_type.empty()) by_operator_[op_type].push_back({.rule = &rule});
}

std::span<const ParsedRule> RuleTable::For(const Node& node) {
  const auto found = by_operator_.find(node.op_type);
  if (found == by_operator_.end()) return {};
  for (ParsedRule& rule : found->second)
    if (rule.text == nullptr) rule.text = TextOf(*rule.rule);
  return found->second;
}

}  // namespace sardonyx::optimizer
