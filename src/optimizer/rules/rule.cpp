// optimizer/rules/rule.cpp - finds where rules apply and replaces what they match.
#include "optimizer/rules/rule.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "ops/infer.h"
#include "ops/schema/schema.h"
#include "optimizer/rules/matcher.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {

struct ParsedRule {
  const Rule* rule;
  std::string_view domain, op_type;  // of the node that `match` begins with
  Term match, replace;
  std::size_t nodes = 0;  // of `match`; 0: not parsed yet
};

namespace {

std::size_t NodesOf(const Term& term) {
  std::size_t nodes = term.kind == Term::Kind::kNode ? 1 : 0;
  for (const Term& argument : term.arguments) nodes += NodesOf(argument);
  return nodes;
}

}  // namespace

// Builds a replacement into the graph, and takes it out again if it does not fit.
class Rewriter {
 public:
  Rewriter(Graph& graph, const ops::Registry& registry, Match& match)
      : graph_(graph), registry_(registry), match_(match) {}

  // True if the replacement has an operator for every node and the type of the root.
  bool Run(const Term& replace, std::string* reason) {
    const Node root = graph_.node(match_.root());
    const ValueId old_output = root.outputs[0];
    const ValueId new_output = Build(replace);
    if (new_output == kNoValue || !TypesAgree(old_output, new_output)) {
      *reason = missing_.empty() ? "the replacement has another type" : missing_;
      for (auto it = added_.rbegin(); it != added_.rend(); ++it) graph_.EraseNode(*it);
      return false;
    }
    Connect(root, old_output, new_output);
    return true;
  }
  const std::vector<NodeId>& added() const { return added_; }

 private:
  ValueId Build(const Term& term) {
    switch (term.kind) {
      case Term::Kind::kCapture:
        return match_.value(term.name);
      case Term::Kind::kNumber:
        return Number(term.number);
      case Term::Kind::kNode:
        return BuildNode(term);
      case Term::Kind::kAny:
        return kNoValue;
    }
    return kNoValue;
  }

  // A constant of the root's element type.
  ValueId Number(double number) {
    const DType dtype = graph_.value(graph_.node(match_.root()).outputs[0]).type.dtype;
    Tensor tensor(dtype, Shape{});
    VisitDType<float, double, Half, BFloat16, std::int32_t, std::int64_t>(dtype, [&]<typename T>() {
      if constexpr (std::is_arithmetic_v<T>) {
        *tensor.data<T>() = static_cast<T>(number);
      } else {
        *tensor.data<T>() = T(static_cast<float>(number));
      }
    });
    return graph_.AddConstant("constant", std::move(tensor));
  }

  ValueId BuildNode(const Term& term) {
    const ops::OpSchema* schema = SchemaFor(graph_, term.domain, term.name);
    const int version = schema != nullptr ? schema->since_version : 1;
    if (registry_.Find(term.domain, term.name, version) == nullptr) {
      missing_ = "there is no operator " + term.name + " version " + std::to_string(version);
      return kNoValue;
    }
    Node node;
    node.domain = term.domain;
    node.op_type = term.name;
    node.since_version = version;
    node.provider = graph_.node(match_.root()).provider;
    for (const Term& argument : term.arguments) {
      const ValueId input = Build(argument);
      if (input == kNoValue && !argument.optional) return kNoValue;
      node.inputs.push_back(input);
    }
    while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
    for (const Term::TermAttribute& attribute : term.attributes) {
      const AttributeValue* captured =
          attribute.capture.empty() ? &attribute.value : match_.attribute(attribute.capture);
      const bool given = captured != nullptr && !std::holds_alternative<std::monostate>(*captured);
      if (given) node.SetAttribute(attribute.name, *captured);
    }
    if (schema != nullptr && !IsOf(*schema, node)) return kNoValue;
    const ValueId root_output = graph_.node(match_.root()).outputs[0];
    node.name = graph_.node(match_.root()).name;
    node.outputs = {graph_.AddValue(graph_.FreshName(graph_.value(root_output).name))};
    const ValueId output = node.outputs[0];
    const NodeId id = graph_.AddNode(std::move(node));
    added_.push_back(id);
    ops::InferAt(graph_, id, registry_);
    return output;
  }

  // Before the upgrade the graph's opset may be one that writes the operator otherwise, or for fewer types.
  bool IsOf(const ops::OpSchema& schema, const Node& node) {
    bool fits = static_cast<std::int64_t>(node.inputs.size()) <= schema.max_inputs;
    for (std::size_t i = 0; fits && i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      const Type& type = graph_.value(node.inputs[i]).type;
      fits = type.is_none() || (type.is_tensor() && type.dtype == DType::kUndefined) ||
             schema.Input(i)->types().Contains(type);
    }
    for (const Attribute& attribute : node.attributes) fits = fits && schema.FindAttribute(attribute.name) != nullptr;
    if (!fits) missing_ = node.op_type + " version " + std::to_string(schema.since_version) + " cannot express it";
    return fits;
  }

  bool TypesAgree(ValueId old_output, ValueId new_output) const {
    const Type& a = graph_.value(old_output).type;
    const Type& b = graph_.value(new_output).type;
    if (a.kind != b.kind || a.dtype != b.dtype) return false;
    if (!a.has_rank || !b.has_rank) return true;
    if (a.rank() != b.rank()) return false;
    for (std::size_t i = 0; i < a.rank(); ++i)
      if (a.dims[i].known() && b.dims[i].known() && a.dims[i].number() != b.dims[i].number()) return false;
    return true;
  }

  // The new value takes the old one's place and, if a node makes it, its name.
  void Connect(const Node& root, ValueId old_output, ValueId new_output) {
    const NodeId producer = graph_.value(new_output).producer;
    const bool fresh = std::find(added_.begin(), added_.end(), producer) != added_.end();
    const Type new_type = graph_.value(new_output).type;
    graph_.EraseNode(root.id);
    if (fresh) {
      graph_.MoveOutput(producer, 0, old_output);
    } else {
      graph_.ReplaceUses(old_output, new_output);
      if (graph_.value(old_output).is_output) {
        Node identity;
        identity.op_type = "Identity";
        identity.name = root.name;
        identity.since_version = SchemaFor(graph_, "", "Identity")->since_version;
        identity.inputs = {new_output};
        identity.outputs = {old_output};
        identity.provider = root.provider;
        added_.push_back(graph_.AddNode(std::move(identity)));
      }
    }
    if (!graph_.value(old_output).type.has_rank) graph_.value(old_output).type = new_type;
    for (const NodeId id : match_.nodes_) {
      if (id == root.id || graph_.node(id).erased) continue;
      const ValueId output = graph_.node(id).outputs[0];
      if (graph_.UseCount(output) == 0) graph_.EraseNode(id);
    }
  }

  Graph& graph_;
  const ops::Registry& registry_;
  Match& match_;
  std::vector<NodeId> added_;
  std::string missing_;
};

namespace {

// The rules of a pass by the operator that each begins with. Most models have few of these: a rule is parsed when the
// first node that it may begin with is met.
class RuleTable {
 public:
  explicit RuleTable(std::span<const Rule> rules) {
    parsed_.reserve(rules.size());
    for (const Rule& rule : rules) {
      const std::string_view text = rule.match.text, name = text.substr(0, text.find('('));
      const std::size_t dot = name.rfind('.');
      const bool standard = dot == std::string_view::npos;
      parsed_.push_back({.rule = &rule,
                         .domain = standard ? std::string_view() : name.substr(0, dot),
                         .op_type = standard ? name : name.substr(dot + 1),
                         .match = {},
                         .replace = {}});
      by_operator_[parsed_.back().op_type].push_back(&parsed_.back());
    }
  }
  RuleTable(const RuleTable&) = delete;
  RuleTable& operator=(const RuleTable&) = delete;

  std::span<ParsedRule* const> For(const Node& node) const {
    const auto found = by_operator_.find(node.op_type);
    if (found == by_operator_.end()) return {};
    for (ParsedRule* rule : found->second) {
      if (rule->nodes != 0) continue;
      rule->match = ParseTerm(rule->rule->match.text);
      rule->replace = ParseTerm(rule->rule->replace.text);
      rule->nodes = NodesOf(rule->match);
    }
    return found->second;
  }

 private:
  std::vector<ParsedRule> parsed_;
  std::unordered_map<std::string_view, std::vector<ParsedRule*>> by_operator_;
};

class Engine {
 public:
  Engine(const RuleTable& rules, Graph& graph, const ops::Registry& registry, int limit, Explanation* explain)
      : rules_(rules), graph_(graph), registry_(registry), limit_(limit), explain_(explain) {}

  int Run() {
    const std::vector<NodeId> own = OwnNodes(graph_);
    std::deque<NodeId> work(own.begin(), own.end());
    while (!work.empty() && (limit_ < 0 || fired_ < limit_)) {
      const NodeId id = work.front();
      work.pop_front();
      if (graph_.node(id).erased || IsForeign(graph_.node(id))) continue;
      TryRules(id, work);
    }
    if (fired_ > 0) graph_.SortTopologically();
    for (const NodeId id : OwnNodes(graph_)) {
      for (Graph* body : graph_.node(id).Subgraphs()) {
        Engine inner(rules_, *body, registry_, limit_ < 0 ? -1 : limit_ - fired_, explain_);
        const int count = inner.Run();
        fired_ += count;
        if (count > 0) graph_.RefreshCaptures(id);
      }
    }
    return fired_;
  }

 private:
  void TryRules(NodeId id, std::deque<NodeId>& work) {
    std::optional<NearMiss> nearest;
    for (const ParsedRule* rule : rules_.For(graph_.node(id))) {
      if (rule->domain != graph_.node(id).domain) continue;
      Matcher matcher(graph_, registry_, explain_ != nullptr);
      std::optional<Match> match = matcher.Try(rule->match, id);
      NearMiss miss{rule->rule->name, matcher.reason(), rule->nodes, matcher.matched(), IsNear(*rule, matcher)};
      if (match && rule->rule->when != nullptr && !rule->rule->when(*match)) {
        miss.near = !match->reason().empty();
        miss.reason = miss.near ? match->reason() : "its condition does not hold";
        miss.matched = rule->nodes;
        match.reset();
      }
      if (match) {
        Rewriter rewriter(graph_, registry_, *match);
        if (rewriter.Run(rule->replace, &miss.reason)) {
          ++fired_;
          Revisit(rewriter.added(), work);
          return;
        }
        miss.near = true;
      }
      if (explain_ == nullptr) continue;
      if (explain_->pass() != "*") Tell(id, miss);
      if (!nearest || nearest->Distance() > miss.Distance()) nearest = std::move(miss);
    }
    if (nearest && explain_->pass() == "*") Tell(id, *nearest);
  }

  // A rule that did not fire: how many of its nodes were there.
  struct NearMiss {
    std::string_view rule;
    std::string reason;
    std::size_t nodes, matched;
    bool near;
    std::pair<bool, std::ptrdiff_t> Distance() const {
      return {!near, static_cast<std::ptrdiff_t>(nodes) - static_cast<std::ptrdiff_t>(matched)};
    }
  };

  void Tell(NodeId id, const NearMiss& miss) const {
    explain_->Left(Describe(graph_, graph_.node(id)),
                   "rule '" + std::string(miss.rule) + "' did not fire: " + miss.reason, miss.near);
  }

  // One wonders why the rest is not there: half of a pattern of several nodes was found, two nodes at least.
  static bool IsNear(const ParsedRule& rule, const Matcher& matcher) {
    return matcher.matched() >= 2 && 2 * matcher.matched() >= rule.nodes;
  }

  // What was built, and what reads it, may now match something else.
  void Revisit(const std::vector<NodeId>& added, std::deque<NodeId>& work) {
    for (const NodeId id : added) {
      if (graph_.node(id).erased) continue;
      work.push_back(id);
      for (const ValueId output : graph_.node(id).outputs)
        if (output != kNoValue)
          work.insert(work.end(), graph_.value(output).consumers.begin(), graph_.value(output).consumers.end());
    }
  }

  const RuleTable& rules_;
  Graph& graph_;
  const ops::Registry& registry_;
  int limit_;
  Explanation* explain_;
  int fired_ = 0;
};

}  // namespace

int ApplyRules(std::span<const Rule> rules, Graph& graph, const ops::Registry& registry, int limit,
               Explanation* explain) {
  return Engine(RuleTable(rules), graph, registry, limit, explain).Run();
}

}  // namespace sardonyx::optimizer
