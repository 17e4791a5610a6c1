// optimizer/rules/rule.h - a rewrite rule: an expression to look for, one to put in its place, and a condition if one
// is needed.
//
// clang-format off
// What to look for:
//   x, bias               a lower-case word captures any value; the same word again must meet the same value, or an
//                         equal constant
//   _                     any value
//   ?x                    an input that may be missing
//   0.5                   a constant with one element of that value (relative tolerance 1e-5; 1e-3 in half precision)
//   Op(a, b)              a node of that op_type; if the operator is commutative, both orders are tried
//   Mul(a, b, c)          a product (or sum: Add) of three or four factors in any order, multiplied in any order
//   Op?(a, b)             the node, or `a` alone if there is no such node: then what only the node has is not captured
//   a | b                 one of several; in an argument's place as it is, elsewhere in parentheses
//   com.microsoft.Op(a)   a node of another domain
//   Op(a; axis=-1, mode="x", perm=[1, 0])
//                         attributes equal to a number, string or list; the schema's default counts where the node has
//                         none
//   Op(a; alpha=$alpha)   an attribute captured under a name
//   y:Op(a)               a node under a name: `y` is its result, Match::node("y") the node; also y:(Op(a) | Other(a))
//   y[1]                  output 1 of the node y, which stands further to the left
//   ... where d = Sub(x, y), e = d | x
//                         abbreviations: each d is read as if Sub(x, y) stood there
//
// What to put in its place:
//   x, 0.5, Op(a, ?b; axis=-1, alpha=$alpha)
//                         values, constants and new nodes; an attribute or ?b that was not captured is left out
//   Op(a; $y)             a node with all attributes of the node y
//   $y(a, b)              a node like y (operator, version, attributes, name) with other inputs and, if any, attributes
//   Op(a) -> _, _, sum    further outputs of the outermost node: the value `sum`, if others than the pattern read it
//
// For example
//   {.name = "Erf", .match = "Mul(0.5, x, Add(1, Erf(Div(x, 1.4142135) | Mul(x, 0.70710678))))", .replace = "Gelu(x)"}
// finds GELU with the factor 0.5 in any of its places, and
//   {.name = "scaled", .match = "Add(y:Gemm(a, b, ?c), Mul?(x, factor))", .replace = "$y(a, b, sum)", .when = Folds}
// a Gemm and a sum whose second operand may be a product. `Folds` sees m.value("factor") == kNoValue if it is not one.
// clang-format on
//
// The compiler reads every expression, so that a mistake in one does not compile.
//
// A pattern matches nodes in their newest spelling. The matcher guarantees that the values inside the pattern are used
// nowhere else and are not graph outputs (unless the replacement names them), that all matched nodes belong to one
// provider, and that the replacement has the type of what it replaces. A rule never checks these. If a condition does
// not hold, the other ways to match the pattern at this node are tried: of Add(x, bias) both orders. If the outermost
// node may be missing, the largest form wins.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/joined_text.h"
#include "ir/graph.h"
#include "ops/registry.h"
#include "optimizer/rules/explanation.h"
#include "optimizer/rules/term.h"

namespace sardonyx::optimizer {

// An expression that the compiler has read.
struct Expression {
  std::string_view text, definitions;
  std::array<std::string_view, 8> roots = {};  // op_types of the nodes that a match may begin with
  bool may_grow = false;                       // the outermost node may be missing
  std::size_t nodes = 0;                       // of the smallest match

  // NOLINTNEXTLINE(google-explicit-constructor): rules are tables of text
  consteval Expression(const char* expression, const char* shared_definitions = "")
      : text(expression), definitions(shared_definitions) {
    const Term term = ParseTerm(text, definitions);
    nodes = NodesOf(term);
    CollectRoots(term);
    may_grow = term.kind == Term::Kind::kNode && term.optional;
  }

 private:
  static constexpr std::size_t NodesOf(const Term& term) {
    if (term.kind == Term::Kind::kAlternatives) {
      std::size_t fewest = NodesOf(term.arguments[0]);
      for (const Term& each : term.arguments) fewest = NodesOf(each) < fewest ? NodesOf(each) : fewest;
      return fewest;
    }
    if (term.kind == Term::Kind::kNode && term.optional) return NodesOf(term.arguments[0]);
    std::size_t nodes = term.kind == Term::Kind::kNode ? 1 : 0;
    for (const Term& argument : term.arguments) nodes += NodesOf(argument);
    return nodes;
  }
  constexpr void CollectRoots(const Term& term) {
    if (term.kind == Term::Kind::kAlternatives)
      for (const Term& each : term.arguments) CollectRoots(each);
    if (term.kind != Term::Kind::kNode) return;
    std::size_t i = 0;
    while (!roots[i].empty() && roots[i] != term.op_type) ++i;
    roots[i] = term.op_type;  // one too many does not compile
    if (term.optional) CollectRoots(term.arguments[0]);
  }
};

// What a pattern captured. A condition may add attributes and constants for the replacement; names live as long as the
// program.
class Match {
 public:
  Match(const Graph& graph, const ops::Registry& registry, bool explain = true)
      : graph_(&graph), registry_(&registry), explain_(explain) {}
  const Graph& graph() const { return *graph_; }
  const ops::Registry& registry() const { return *registry_; }
  ValueId value(std::string_view name) const;  // kNoValue for a missing optional input or a part of a missing node
  bool Has(std::string_view name) const { return value(name) != kNoValue; }
  const Type& type(std::string_view name) const;
  const Tensor* constant(std::string_view name) const;
  // The one element of a constant as double; nullopt unless it is a constant with one element.
  std::optional<double> scalar(std::string_view name) const;
  std::optional<std::vector<std::int64_t>> ints(std::string_view name) const;
  const AttributeValue* attribute(std::string_view name) const;  // nullptr if it has no value
  std::int64_t IntAttribute(std::string_view name, std::int64_t otherwise) const;
  float FloatAttribute(std::string_view name, float otherwise) const;
  const Node& node(std::string_view name) const;  // that makes the value captured under this name, which must exist
  NodeId root() const { return root_; }
  const Type& result() const;  // the type of what is replaced

  void SetAttribute(std::string_view name, AttributeValue value);
  // Adds a constant that the replacement reads under `name`, even if a value was captured under that name. In the graph
  // it is called `label`, or `name` if that is empty.
  void SetConstant(std::string_view name, Tensor tensor, std::string label = "");
  // Makes the replacement read `value` under `name` instead of what was captured.
  void SetValue(std::string_view name, ValueId value);

  // Reports why a condition does not hold. Returns false, so that the condition can end with it.
  template <typename... Parts>
  bool No(const Parts&... parts) {
    if (!explain_) return false;
    reason_ = JoinedText(parts...);
    return false;
  }
  const std::string& reason() const { return reason_; }

 private:
  friend class Matcher;
  friend class Rewriter;
  struct Constant {
    std::string_view name;
    Tensor tensor;
    std::string label;
  };
  // How much was captured at some point, so that the matcher can go back to it.
  struct Mark {
    std::size_t values, attributes, nodes;
  };
  Mark Here() const { return {values_.size(), attributes_.size(), nodes_.size()}; }
  void GoBack(const Mark& mark);

  const Graph* graph_;
  const ops::Registry* registry_;
  bool explain_;  // whether to keep reasons
  NodeId root_ = kNoNode;
  std::vector<std::pair<std::string_view, ValueId>> values_;  // the last one of a name counts
  std::vector<std::pair<std::string_view, AttributeValue>> attributes_;
  std::vector<Constant> constants_;
  std::vector<NodeId> nodes_;       // the root first
  bool numbers_have_axes_ = false;  // a constant that was met as a number is no scalar, and may add axes to a result
  std::string reason_;
};

struct Rule {
  std::string_view name;
  Expression match;
  Expression replace;
  bool (*when)(Match&) = nullptr;  // extra condition; null means always
  bool shares = false;             // values inside the pattern may have other readers: their nodes stay then
  bool any_spelling = false;       // nodes of older versions match as they stand; `when` must know them
};

// Applies the rules until none matches, looking only at nodes of a rule's root operator. Returns how often a rule was
// applied, at most `limit` times unless that is negative. `explain`, if given, is told why rules did not apply: for
// each candidate the rule that came nearest, or all of them.
int ApplyRules(std::span<const Rule> rules, Graph& graph, const ops::Registry& registry, int limit = -1,
               Explanation* explain = nullptr);

}  // namespace sardonyx::optimizer
