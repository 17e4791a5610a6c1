// optimizer/rules/apply_rules.cpp - finds where rules apply and replaces what they match.
#include "optimizer/rules/rule.h"

#include <algorithm>
#include <deque>

#include "ops/infer.h"
#include "ops/schema/schema.h"
#include "optimizer/rules/matcher.h"
#include "optimizer/rules/rewrite.h"
#include "optimizer/rules/rule_table.h"
#include "optimizer/rules/unused_constants.h"

namespace sardonyx::optimizer {

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
    const NodeId producer = new_output == kNoValue ? kNoNode : graph_.value(new_output).producer;
    const bool fresh = std::find(added_.begin(), added_.end(), producer) != added_.end();
    if (missing_.empty() && (new_output == kNoValue || !TypesAgree(old_output, new_output, fresh)))
      missing_ = "the replacement has another type";
    if (missing_.empty() && !fresh && root.op_type == "Identity" && root.domain.empty() &&
        !CanTakePlace(graph_, old_output, new_output))
      missing_ = "both its ends have names that the user knows";
    if (!missing_.empty()) {
      *reason = missing_;
      for (auto it = added_.rbegin(); it != added_.rend(); ++it) graph_.EraseNode(*it);
      for (const ValueId constant : constants_) DropIfUnused(graph_, constant);
      return false;
    }
    Connect(root, old_output, new_output, fresh, replace);
    return true;
  }
  const std::vector<NodeId>& added() const { return added_; }

 private:
  ValueId Build(const Term& term) {
    switch (term.kind) {
      case Term::Kind::kCapture:
        return Captured(term.name);
      case Term::Kind::kNumber:
        return Number(term.number);
      case Term::Kind::kNode:
      case Term::Kind::kLike:
        return BuildNode(term);
      case Term::Kind::kOutput:
        return match_.node(term.name).outputs[term.output];
      case Term::Kind::kAny:
      case Term::Kind::kAlternatives:
        return kNoValue;
    }
    return kNoValue;
  }

  ValueId Captured(std::string_view name) {
    for (Match::Constant& constant : match_.constants_) {
      if (constant.name != name) continue;
      constants_.push_back(graph_.AddConstant(constant.label, std::move(constant.tensor)));
      match_.SetValue(name, constants_.back());
      constant.name = "";  // it may be read twice
      break;
    }
    return match_.value(name);
  }

  // A constant of the root's element type.
  ValueId Number(double number) {
    const DType dtype = graph_.value(graph_.node(match_.root()).outputs[0]).type.dtype;
    std::optional<Tensor> tensor = ScalarTensor(dtype, number);
    if (!tensor) {
      missing_ = "there is no constant " + std::to_string(number) + " of type " + std::string(Name(dtype));
      return kNoValue;
    }
    constants_.push_back(graph_.AddConstant("constant", std::move(*tensor)));
    return constants_.back();
  }

  // A node in the spelling of the graph, or like a matched one.
  Node Outline(const Term& term) {
    Node node;
    node.name = graph_.node(match_.root()).name;
    if (term.kind == Term::Kind::kLike) {
      const Node& like = match_.node(term.name);
      node.domain = like.domain;
      node.op_type = like.op_type;
      node.since_version = like.since_version;
      node.name = like.name;
      node.attributes = like.attributes;
    } else {
      const ops::OpSchema* schema = SchemaFor(graph_, term.domain, term.op_type);
      node.domain = term.domain;
      node.op_type = term.op_type;
      node.since_version = schema != nullptr ? schema->since_version : 1;
    }
    node.provider = graph_.node(match_.root()).provider;
    for (const Term::Attribute& attribute : term.attributes) {
      if (attribute.kind == Term::Attribute::Kind::kAllOf) {
        for (const Attribute& each : match_.node(attribute.text).attributes) node.SetAttribute(each.name, each.value);
      } else if (attribute.kind != Term::Attribute::Kind::kCapture) {
        node.SetAttribute(attribute.name, ValueOf(attribute));
      } else if (const AttributeValue* captured = match_.attribute(attribute.text)) {
        node.SetAttribute(attribute.name, *captured);
      } else {
        node.RemoveAttribute(attribute.name);
      }
    }
    return node;
  }

  ValueId BuildNode(const Term& term) {
    Node node = Outline(term);
    if (registry_.Find(node.domain, node.op_type, node.since_version) == nullptr) {
      missing_ = "there is no operator " + node.op_type + " version " + std::to_string(node.since_version);
      return kNoValue;
    }
    for (const Term& argument : term.arguments) {
      const ValueId input = Build(argument);
      if (input == kNoValue && !argument.optional) return kNoValue;
      node.inputs.push_back(input);
    }
    while (!node.inputs.empty() && node.inputs.back() == kNoValue) node.inputs.pop_back();
    const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type, node.since_version);
    if (schema != nullptr && !IsOf(*schema, node)) return kNoValue;
    const ValueId root_output = graph_.node(match_.root()).outputs[0];
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

  bool TypesAgree(ValueId old_output, ValueId new_output, bool fresh) const {
    const Type& a = graph_.value(old_output).type;
    const Type& b = graph_.value(new_output).type;
    if (!fresh && b.is_none()) return true;  // nothing is known of it, be it handed on or not
    if (a.kind != b.kind || a.dtype != b.dtype) return false;
    if (!a.has_rank || !b.has_rank) return !match_.numbers_have_axes_;
    if (a.rank() != b.rank()) return false;
    for (std::size_t i = 0; i < a.rank(); ++i)
      if (a.dims[i].known() && b.dims[i].known() && a.dims[i].number() != b.dims[i].number()) return false;
    return true;
  }

  // The new value takes the old one's place and, if a node makes it, its name.
  void Connect(const Node& root, ValueId old_output, ValueId new_output, bool fresh, const Term& replace) {
    const Type new_type = graph_.value(new_output).type;
    const NodeId producer = graph_.value(new_output).producer;
    if (fresh) {
      graph_.EraseNode(root.id);
      graph_.MoveOutput(producer, 0, old_output);
    } else if (CanTakePlace(graph_, old_output, new_output)) {
      graph_.EraseNode(root.id);
      TakePlace(graph_, old_output, new_output);
    } else {
      graph_.EraseNode(root.id);
      graph_.ReplaceUses(old_output, new_output);
      Node identity;
      identity.op_type = "Identity";
      identity.name = root.name;
      identity.since_version = SchemaFor(graph_, "", "Identity")->since_version;
      identity.inputs = {new_output};
      identity.outputs = {old_output};
      identity.provider = root.provider;
      added_.push_back(graph_.AddNode(std::move(identity)));
    }
    if (!graph_.value(old_output).type.has_rank) graph_.value(old_output).type = new_type;
    EraseUnused();
    for (std::size_t i = 0; i < replace.outputs.size(); ++i) {
      const ValueId further = replace.outputs[i].empty() ? kNoValue : match_.value(replace.outputs[i]);
      if (further == kNoValue || graph_.UseCount(further) == 0) continue;
      const NodeId former = graph_.value(further).producer;
      graph_.EraseNode(former);
      graph_.MoveOutput(producer, i + 1, further);
      EraseUnused();
    }
  }

  // Those of the matched nodes that nobody reads any more.
  void EraseUnused() {
    for (bool erased = true; erased;) {
      erased = false;
      for (const NodeId id : match_.nodes_) {
        const Node& node = graph_.node(id);
        const bool used = node.erased || std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId output) {
                            return output != kNoValue && graph_.UseCount(output) != 0;
                          });
        if (used) continue;
        graph_.EraseNode(id);
        erased = true;
      }
    }
  }

  Graph& graph_;
  const ops::Registry& registry_;
  Match& match_;
  std::vector<NodeId> added_;
  std::vector<ValueId> constants_;
  std::string missing_;
};

namespace {

class Engine {
 public:
  Engine(RuleTable& rules, Graph& graph, const ops::Registry& registry, int limit, Explanation* explain)
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
    for (const NodeId id : NodesWithBodies(graph_)) {
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
  // A rule that did not fire: how many of its nodes were there.
  struct NearMiss {
    std::string_view rule;
    std::string reason;
    std::size_t nodes = 0, matched = 0;
    bool near = false;
    std::pair<bool, std::ptrdiff_t> Distance() const {
      return {!near, static_cast<std::ptrdiff_t>(nodes) - static_cast<std::ptrdiff_t>(matched)};
    }
  };

  void TryRules(NodeId id, std::deque<NodeId>& work) {
    std::optional<NearMiss> nearest;
    for (const ParsedRule& rule : rules_.For(graph_.node(id))) {
      if (rule.rule->match.may_grow && TryReaders(rule, id, work)) return;
      NearMiss miss;
      if (Fires(rule, id, work, &miss)) return;
      if (explain_ == nullptr) continue;
      if (explain_->pass() != "*") Tell(id, miss);
      if (!nearest || nearest->Distance() > miss.Distance()) nearest = std::move(miss);
    }
    if (nearest && explain_->pass() == "*") Tell(id, *nearest);
  }

  // The largest form of a pattern wins: those that begin with the only reader of `id`, its only reader and so on.
  bool TryReaders(const ParsedRule& rule, NodeId id, std::deque<NodeId>& work) {
    const auto& roots = rule.rule->match.roots;
    std::vector<NodeId> readers;
    for (NodeId reader = id; readers.size() < roots.size();) {
      const ValueId made = graph_.node(reader).outputs[0];
      reader = made == kNoValue ? kNoNode : SoleReader(graph_, made);
      if (reader == kNoNode || std::find(roots.begin(), roots.end(), graph_.node(reader).op_type) == roots.end()) break;
      readers.push_back(reader);
    }
    NearMiss miss;
    return std::any_of(readers.rbegin(), readers.rend(),
                       [&](NodeId reader) { return Fires(rule, reader, work, &miss); });
  }

  bool Fires(const ParsedRule& rule, NodeId id, std::deque<NodeId>& work, NearMiss* miss) {
    Matcher matcher(graph_, registry_, rule, explain_ != nullptr);
    const bool matches = matcher.Try(id);
    if (matches) {
      Rewriter rewriter(graph_, registry_, matcher.match());
      std::string reason;
      if (rewriter.Run(rule.text->replace, &reason)) {
        ++fired_;
        Revisit(rewriter.added(), work);
        return true;
      }
      *miss = {rule.rule->name, reason, rule.rule->match.nodes, rule.rule->match.nodes, true};
    } else if (matcher.rejected()) {
      const bool near = !matcher.reason().empty();
      *miss = {rule.rule->name, near ? matcher.reason() : "its condition does not hold", rule.rule->match.nodes,
               rule.rule->match.nodes, near};
    } else {
      *miss = {rule.rule->name, matcher.reason(), rule.rule->match.nodes, matcher.matched(), IsNear(rule, matcher)};
    }
    return false;
  }

  void Tell(NodeId id, const NearMiss& miss) const {
    explain_->Left(Describe(graph_, graph_.node(id)),
                   "rule '" + std::string(miss.rule) + "' did not fire: " + miss.reason, miss.near);
  }

  // One wonders why the rest is not there: half of a pattern of several nodes was found, two nodes at least.
  static bool IsNear(const ParsedRule& rule, const Matcher& matcher) {
    return matcher.matched() >= 2 && 2 * matcher.matched() >= rule.rule->match.nodes;
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

  RuleTable& rules_;
  Graph& graph_;
  const ops::Registry& registry_;
  int limit_;
  Explanation* explain_;
  int fired_ = 0;
};

}  // namespace

int ApplyRules(std::span<const Rule> rules, Graph& graph, const ops::Registry& registry, int limit,
               Explanation* explain) {
  RuleTable table(rules);
  return Engine(table, graph, registry, limit, explain).Run();
}

}  // namespace sardonyx::optimizer
