// optimizer/rules/rule.h - a rewrite rule: two expressions and an optional condition.
//
// clang-format off
//   x, bias               a lower-case word captures any value; the same word again must meet the same value, or an
//                         equal constant
//   _                     any value
//   ?x                    an input that may be missing
//   0.5                   a constant with one element of that value (relative tolerance 1e-5; 1e-3 in half precision)
//   Op(a, b)              output 0 of a node of that op_type; if the operator is commutative, both orders are tried
//   com.microsoft.Op(a)   a node of another domain
//   Op(a; axis=-1, mode="x", perm=[1, 0])
//                         attributes equal to a number, string or list; the schema's default counts where the node has
//                         none
//   Op(a; alpha=$alpha)   an attribute captured under a name
// clang-format on
//
// A pattern matches nodes in their newest spelling. The matcher itself guarantees that inner values are used inside the
// match only and are no graph outputs, that all matched nodes belong to one provider, and that the replacement has the
// type of what it replaces. A rule never checks these.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/registry.h"
#include "optimizer/rules/explanation.h"

namespace sardonyx::optimizer {

// An expression whose parentheses are checked by the compiler.
struct Expression {
  std::string_view text;
  consteval Expression(const char* expression)
      : text(expression) {  // NOLINT(google-explicit-constructor): rules are tables of text
    int depth = 0;
    for (const char c : text) {
      depth += (c == '(') - (c == ')');
      if (depth < 0) throw "unbalanced ')'";
    }
    if (depth != 0 || text.empty()) throw "unbalanced '('";
  }
};

// What a pattern captured. A condition may add attributes for the replacement.
class Match {
 public:
  Match(const Graph& graph, const ops::Registry& registry, bool explain = true)
      : graph_(&graph), registry_(&registry), explain_(explain) {}
  const Graph& graph() const { return *graph_; }
  const ops::Registry& registry() const { return *registry_; }
  ValueId value(std::string_view name) const;  // kNoValue if a missing optional input
  const Type& type(std::string_view name) const;
  const Tensor* constant(std::string_view name) const;
  // The one element of a constant as double; nullopt if it is no such constant.
  std::optional<double> scalar(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> ints(std::string_view name) const;
  const AttributeValue* attribute(std::string_view name) const;  // nullptr if the node has none
  void SetAttribute(std::string_view name, AttributeValue value) { attributes_[std::string(name)] = std::move(value); }
  NodeId root() const { return root_; }
  // Says why a condition does not hold; false, so that it can end in it.
  template <typename... Parts>
  bool No(const Parts&... parts) {
    if (!explain_) return false;
    std::ostringstream text;
    (text << ... << parts);
    reason_ = text.str();
    return false;
  }
  const std::string& reason() const { return reason_; }

 private:
  friend class Matcher;
  friend class Rewriter;
  const Graph* graph_;
  const ops::Registry* registry_;
  bool explain_;  // whether anybody wants to know why not
  NodeId root_ = kNoNode;
  std::map<std::string, ValueId, std::less<>> values_;
  std::map<std::string, AttributeValue, std::less<>> attributes_;
  std::vector<NodeId> nodes_;
  std::string reason_;
};

struct Rule {
  std::string_view name;
  Expression match;
  Expression replace;
  bool (*when)(Match&) = nullptr;  // extra condition; null means always
};

// Applies the rules until none matches, looking only at nodes of a rule's root operator. Returns how often one fired.
// At most `limit` times if not negative. `explain`, if given, learns why rules did not fire: of each candidate the rule
// that came nearest, or all of them.
int ApplyRules(std::span<const Rule> rules, Graph& graph, const ops::Registry& registry, int limit = -1,
               Explanation* explain = nullptr);

}  // namespace sardonyx::optimizer
