// optimizer/rules/matcher.h - tries a parsed pattern at a node.
#pragma once

#include <string>

#include "optimizer/rules/rule.h"
#include "optimizer/rules/term.h"

namespace sardonyx::optimizer {

class Matcher {
 public:
  Matcher(const Graph& graph, const ops::Registry& registry, bool explain)
      : graph_(graph), registry_(registry), explain_(explain) {}
  // The captures if `pattern` matches with its outermost node at `node`.
  std::optional<Match> Try(const Term& pattern, NodeId node);
  // Why the last Try failed: the term that got furthest.
  const std::string& reason() const { return reason_; }
  // How many of the pattern's nodes it had found by then.
  std::size_t matched() const { return furthest_; }

 private:
  bool MatchValue(const Term& term, ValueId value, Match& match);
  bool MatchNode(const Term& term, const Node& node, Match& match);
  bool MatchArguments(const Term& term, const Node& node, bool swapped, Match& match);
  bool MatchAttributes(const Term& term, const Node& node, Match& match);
  bool MatchNumber(double number, ValueId value);
  bool InnerValuesStayInside(const Match& match);
  template <typename... Parts>
  bool No(const Match& match, const Parts&... parts);

  const Graph& graph_;
  const ops::Registry& registry_;
  bool explain_;
  std::string reason_;
  std::size_t furthest_ = 0;
};

}  // namespace sardonyx::optimizer
