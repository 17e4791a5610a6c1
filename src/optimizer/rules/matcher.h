// optimizer/rules/matcher.h - tries to match a parsed pattern at a node.
//
// The matcher keeps a list of goals, each a term and the value that it must match. Meeting a goal puts new goals in
// front of the list. Where there are several ways to meet it (alternatives, orders of operands, nodes that may be
// missing), they are tried one after the other, each with all the goals behind it, so that a wrong choice is undone
// wherever it shows.
#pragma once

#include <string>

#include "optimizer/rules/rule.h"

namespace sardonyx::optimizer {

// The expressions of a rule as they were read.
struct RuleText {
  Term match, replace;
  std::vector<std::string_view> kept;  // values that the replacement names: they may be used elsewhere, too
};

struct ParsedRule {
  const Rule* rule;
  const RuleText* text = nullptr;  // null until it is read
};

class Matcher {
 public:
  Matcher(const Graph& graph, const ops::Registry& registry, const ParsedRule& rule, bool explain)
      : graph_(graph), registry_(registry), rule_(rule), match_(graph, registry, explain), explain_(explain) {}
  // True if the rule's pattern matches with its outermost node at `node`, and its condition holds.
  bool Try(NodeId node);
  Match& match() { return match_; }
  // Why the last Try failed: the term that got furthest, or the condition.
  const std::string& reason() const { return reason_; }
  // How many of the pattern's nodes it had found by then.
  std::size_t matched() const { return furthest_; }
  // The pattern matched, but its condition did not hold.
  bool rejected() const { return rejected_; }

 private:
  struct Goal {
    const Term* term;
    ValueId value;
    const Goal* next;
  };
  bool Meet(const Goal* goal);
  bool MeetCapture(const Goal& goal);
  bool MeetNode(const Goal& goal);
  bool MeetArguments(const Goal& goal, std::span<const ValueId> operands);
  bool MeetChain(const Goal& goal, const Node& node);
  bool SplitChain(const Goal& goal, const Node& like, std::span<ValueId> operands, std::size_t count, std::size_t from);
  bool IsCandidate(const Term& term, const Node& node);
  bool TakeAttributes(const Term& term, const Node& node);
  void TakeNode(NodeId id);
  bool IsNumber(double number, ValueId value) const;
  bool InnerValuesStayInside();
  bool Accept();
  template <typename... Parts>
  bool No(const Parts&... parts);

  const Graph& graph_;
  const ops::Registry& registry_;
  const ParsedRule& rule_;
  Match match_;
  bool explain_;
  std::string reason_;
  std::size_t furthest_ = 0;
  std::size_t steps_ = 0;
  bool rejected_ = false;
};

}  // namespace sardonyx::optimizer
