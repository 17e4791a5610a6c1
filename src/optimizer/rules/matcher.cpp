// optimizer/rules/matcher.cpp - matches patterns with nodes: captures, constants, orders of operands, attributes, use
// counts.
#include "optimizer/rules/matcher.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>

#include "ops/schema/schema.h"
#include "ops/upgrade.h"

namespace sardonyx::optimizer {
namespace {

// Steps of one try. The longest of our patterns take some hundred; a pattern that could be read in ever more ways at
// one node (chains within chains of the same operator) is given up.
constexpr std::size_t kMaxSteps = 5000;

std::optional<double> OnlyElement(const Tensor& t) {
  if (t.count() != 1) return std::nullopt;
  std::optional<double> value;
  VisitDType<float, double, Half, BFloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t>(
      t.dtype(), [&]<typename T>() {
        if constexpr (std::is_arithmetic_v<T>) {
          value = static_cast<double>(*t.data<T>());
        } else {
          value = static_cast<double>(static_cast<float>(*t.data<T>()));
        }
      });
  return value;
}

bool SameContents(const Tensor* a, const Tensor* b) {
  return a != nullptr && b != nullptr && a->dtype() == b->dtype() && a->shape() == b->shape() &&
         !IsString(a->dtype()) && (a->raw() == b->raw() || std::memcmp(a->raw(), b->raw(), a->byte_size()) == 0);
}

bool SameAttribute(const AttributeValue& a, const AttributeValue& b) {
  if (const auto* x = std::get_if<float>(&a)) {
    const auto* y = std::get_if<float>(&b);
    return y != nullptr && std::abs(*x - *y) <= 1e-5f * std::max(std::abs(*x), std::abs(*y));
  }
  if (const auto* x = std::get_if<std::int64_t>(&a)) {
    const auto* y = std::get_if<std::int64_t>(&b);
    if (const auto* real = std::get_if<float>(&b)) return static_cast<float>(*x) == *real;
    return y != nullptr && *x == *y;
  }
  if (const auto* x = std::get_if<std::string>(&a)) {
    const auto* y = std::get_if<std::string>(&b);
    return y != nullptr && *x == *y;
  }
  const auto* x = std::get_if<std::vector<std::int64_t>>(&a);
  const auto* y = std::get_if<std::vector<std::int64_t>>(&b);
  return x != nullptr && y != nullptr && *x == *y;
}

AttributeValue AttributeOrDefault(const Node& node, std::string_view name) {
  if (const AttributeValue* found = node.FindAttribute(name)) return *found;
  const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type, node.since_version);
  const ops::AttributeSpec* spec = schema != nullptr ? schema->FindAttribute(std::string(name)) : nullptr;
  return spec != nullptr ? spec->DefaultValue() : AttributeValue();
}

// Add and Mul of two operands: a chain of them may be written in any order.
bool IsAssociative(const Node& node) {
  return node.domain.empty() && (node.op_type == "Add" || node.op_type == "Mul") && node.inputs.size() == 2;
}

// A node in a message, described only if the message is made.
struct Shown {
  const Graph& graph;
  const Node& node;
};
template <typename T>
const T& Described(const T& part) {
  return part;
}
std::string Described(const Shown& shown) { return Describe(shown.graph, shown.node); }

}  // namespace

ValueId Match::value(std::string_view name) const {
  for (auto entry = values_.rbegin(); entry != values_.rend(); ++entry)
    if (entry->first == name) return entry->second;
  return kNoValue;
}
const Type& Match::type(std::string_view name) const {
  static const Type none;
  const ValueId id = value(name);
  return id == kNoValue ? none : graph_->value(id).type;
}
const Tensor* Match::constant(std::string_view name) const {
  const ValueId id = value(name);
  return id == kNoValue ? nullptr : graph_->value(id).constant();
}
std::optional<double> Match::scalar(std::string_view name) const {
  const Tensor* t = constant(name);
  return t == nullptr ? std::nullopt : OnlyElement(*t);
}
std::optional<std::vector<std::int64_t>> Match::ints(std::string_view name) const {
  const Tensor* t = constant(name);
  if (t == nullptr || t->dtype() != DType::kInt64) return std::nullopt;
  const auto span = t->span<std::int64_t>();
  return std::vector<std::int64_t>(span.begin(), span.end());
}
const AttributeValue* Match::attribute(std::string_view name) const {
  for (auto entry = attributes_.rbegin(); entry != attributes_.rend(); ++entry)
    if (entry->first == name) return entry->second.index() == 0 ? nullptr : &entry->second;
  return nullptr;
}
std::int64_t Match::IntAttribute(std::string_view name, std::int64_t otherwise) const {
  const AttributeValue* found = attribute(name);
  const auto* number = found != nullptr ? std::get_if<std::int64_t>(found) : nullptr;
  return number != nullptr ? *number : otherwise;
}
float Match::FloatAttribute(std::string_view name, float otherwise) const {
  const AttributeValue* found = attribute(name);
  const auto* number = found != nullptr ? std::get_if<float>(found) : nullptr;
  return number != nullptr ? *number : otherwise;
}
const Node& Match::node(std::string_view name) const { return graph_->node(graph_->value(value(name)).producer); }
const Type& Match::result() const { return graph_->value(graph_->node(root_).outputs[0]).type; }

void Match::SetAttribute(std::string_view name, AttributeValue value) {
  attributes_.emplace_back(name, std::move(value));
}
void Match::SetConstant(std::string_view name, Tensor tensor, std::string label) {
  if (label.empty()) label = Has(name) ? graph_->value(value(name)).name : std::string(name);
  constants_.push_back({name, std::move(tensor), std::move(label)});
}
void Match::SetValue(std::string_view name, ValueId value) { values_.emplace_back(name, value); }
void Match::GoBack(const Mark& mark) {
  values_.resize(mark.values);
  attributes_.resize(mark.attributes);
  nodes_.resize(mark.nodes);
}

template <typename... Parts>
bool Matcher::No(const Parts&... parts) {
  if (!explain_ || rejected_ || match_.nodes_.size() < furthest_) return false;
  furthest_ = match_.nodes_.size();
  reason_ = JoinedText(Described(parts)...);
  return false;
}

bool Matcher::Try(NodeId node) {
  match_.GoBack({0, 0, 0});
  match_.constants_.clear();
  match_.numbers_have_axes_ = false;
  match_.root_ = node;
  furthest_ = steps_ = 0;
  rejected_ = false;
  reason_.clear();
  const Goal goal{&rule_.text->match, graph_.node(node).outputs[0], nullptr};
  return goal.value != kNoValue && Meet(&goal);
}

bool Matcher::Meet(const Goal* goal) {
  if (goal == nullptr) return Accept();
  if (++steps_ > kMaxSteps) return No("it can be matched in too many ways");
  const Term& term = *goal->term;
  switch (term.kind) {
    case Term::Kind::kAny:
      return Meet(goal->next);
    case Term::Kind::kNumber:
      if (goal->value == kNoValue || !IsNumber(term.number, goal->value))
        return No("'", goal->value == kNoValue ? "" : graph_.value(goal->value).name, "' is not the constant ",
                  term.number);
      match_.numbers_have_axes_ |= graph_.value(goal->value).type.rank() > 0;
      return Meet(goal->next);
    case Term::Kind::kCapture:
      return MeetCapture(*goal);
    case Term::Kind::kOutput: {
      const ValueId first = match_.value(term.name);
      const Node* node = first != kNoValue ? &graph_.node(graph_.value(first).producer) : nullptr;
      if (node == nullptr || term.output >= node->outputs.size() || node->outputs[term.output] != goal->value)
        return No("'", graph_.value(goal->value).name, "' is not output ", term.output, " of ", term.name);
      return Meet(goal->next);
    }
    case Term::Kind::kAlternatives:
      return std::any_of(term.arguments.begin(), term.arguments.end(), [&](const Term& each) {
        const Goal instead{&each, goal->value, goal->next};
        return Meet(&instead);
      });
    case Term::Kind::kNode: {
      if (MeetNode(*goal)) return true;
      if (!term.optional) return false;
      const Goal instead{&term.arguments[0], goal->value, goal->next};
      return Meet(&instead);
    }
    case Term::Kind::kLike:
      break;  // of replacements
  }
  return false;
}

bool Matcher::MeetCapture(const Goal& goal) {
  const std::string_view name = goal.term->name;
  const auto found = std::find_if(match_.values_.begin(), match_.values_.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  if (found == match_.values_.end()) {
    const Match::Mark mark = match_.Here();
    match_.values_.emplace_back(name, goal.value);
    if (Meet(goal.next)) return true;
    match_.GoBack(mark);
    return false;
  }
  const ValueId was = found->second;
  if (was == goal.value) return Meet(goal.next);
  if (was != kNoValue && goal.value != kNoValue &&
      SameContents(graph_.value(was).constant(), graph_.value(goal.value).constant()))
    return Meet(goal.next);
  return No("'", goal.value == kNoValue ? "" : graph_.value(goal.value).name, "' is not the value captured as ", name);
}

bool Matcher::MeetNode(const Goal& goal) {
  const Term& term = *goal.term;
  const ValueInfo& value = graph_.value(goal.value);
  if (value.producer == kNoNode) return No("'", value.name, "' is not made by ", term.op_type);
  const Node& node = graph_.node(value.producer);
  if (node.outputs[0] != goal.value) return No("'", value.name, "' is not the first output of its node");
  if (!IsCandidate(term, node)) return false;
  const Match::Mark mark = match_.Here();
  if (!TakeAttributes(term, node)) {
    match_.GoBack(mark);
    return false;
  }
  TakeNode(node.id);
  if (!term.name.empty()) match_.values_.emplace_back(term.name, goal.value);
  bool met = false;
  if (term.arguments.size() > 2 && IsAssociative(node)) {
    met = MeetChain(goal, node);
  } else if (node.inputs.size() > term.arguments.size()) {
    No(Shown{graph_, node}, " has ", node.inputs.size(), " inputs, the pattern ", term.arguments.size());
  } else {
    std::array<ValueId, TermParser::kMaxArguments> operands;
    operands.fill(kNoValue);
    std::copy(node.inputs.begin(), node.inputs.end(), operands.begin());
    const std::span<const ValueId> all(operands.data(), term.arguments.size());
    met = MeetArguments(goal, all);
    const ops::OpDef* op = met ? nullptr : registry_.Find(node.domain, node.op_type, node.since_version);
    if (op != nullptr && (op->traits & ops::kCommutative) != 0 && all.size() > 1) {
      std::swap(operands[0], operands[1]);
      met = MeetArguments(goal, all);
    }
  }
  if (!met) match_.GoBack(mark);
  return met;
}

bool Matcher::IsCandidate(const Term& term, const Node& node) {
  if (node.op_type != term.op_type || node.domain != term.domain)
    return No("expected ", term.op_type, ", found ", Shown{graph_, node});
  if (!rule_.rule->any_spelling && !ops::IsNewestSpelling(graph_, node, registry_))
    return No(Shown{graph_, node}, " is spelled as in version ", node.since_version);
  if (node.provider != graph_.node(match_.root_).provider) return No(Shown{graph_, node}, " runs on another provider");
  return true;
}

void Matcher::TakeNode(NodeId id) {
  if (std::find(match_.nodes_.begin(), match_.nodes_.end(), id) == match_.nodes_.end()) match_.nodes_.push_back(id);
}

// The goals for the arguments of a node whose operands are these, and those behind them.
bool Matcher::MeetArguments(const Goal& goal, std::span<const ValueId> operands) {
  const std::vector<Term>& arguments = goal.term->arguments;
  std::array<Goal, TermParser::kMaxArguments> goals;
  const Goal* next = goal.next;
  for (std::size_t i = arguments.size(); i-- > 0;) {
    const Term& argument = arguments[i];
    const bool may_miss = argument.optional && argument.kind != Term::Kind::kNode;
    if (operands[i] == kNoValue && !may_miss) return No("input ", i, " of ", goal.term->op_type, " is missing");
    goals[i] = {&argument, operands[i], next};
    next = &goals[i];
  }
  return Meet(next);
}

// A product of more factors than the node has inputs: some of them are products in turn.
bool Matcher::MeetChain(const Goal& goal, const Node& node) {
  std::array<ValueId, TermParser::kMaxArguments> operands = {node.inputs[0], node.inputs[1]};
  return SplitChain(goal, node, operands, 2, 0);
}

// Operands before `from` stay as they are, so that every tree is met once.
bool Matcher::SplitChain(const Goal& goal, const Node& like, std::span<ValueId> operands, std::size_t count,
                         std::size_t from) {
  const std::size_t wanted = goal.term->arguments.size();
  if (count == wanted) {
    std::array<std::size_t, TermParser::kMaxArguments> order;
    std::iota(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted), std::size_t{0});
    do {
      std::array<ValueId, TermParser::kMaxArguments> ordered;
      for (std::size_t i = 0; i < wanted; ++i) ordered[i] = operands[order[i]];
      if (MeetArguments(goal, {ordered.data(), wanted})) return true;
    } while (std::next_permutation(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(wanted)));
    return false;
  }
  bool split = false;
  for (std::size_t i = from; i < count; ++i) {
    const NodeId producer = operands[i] == kNoValue ? kNoNode : graph_.value(operands[i]).producer;
    if (producer == kNoNode) continue;
    const Node& inner = graph_.node(producer);
    if (inner.op_type != like.op_type || !IsAssociative(inner) || !IsCandidate(*goal.term, inner)) continue;
    split = true;
    const Match::Mark mark = match_.Here();
    TakeNode(producer);
    std::array<ValueId, TermParser::kMaxArguments> longer;
    for (std::size_t j = 0; j < count; ++j) longer[j < i ? j : j + 1] = operands[j];
    longer[i] = inner.inputs[0];
    longer[i + 1] = inner.inputs[1];
    if (SplitChain(goal, like, longer, count + 1, i)) return true;
    match_.GoBack(mark);
  }
  return !split && No("expected a chain of ", wanted, " operands of ", like.op_type, ", found ", count);
}

bool Matcher::TakeAttributes(const Term& term, const Node& node) {
  for (const Term::Attribute& wanted : term.attributes) {
    AttributeValue found = AttributeOrDefault(node, wanted.name);
    if (wanted.kind != Term::Attribute::Kind::kCapture) {
      if (SameAttribute(ValueOf(wanted), found)) continue;
      return No(Shown{graph_, node}, ": attribute ", wanted.name, " has another value");
    }
    const auto was = std::find_if(match_.attributes_.begin(), match_.attributes_.end(),
                                  [&](const auto& entry) { return entry.first == wanted.text; });
    if (was == match_.attributes_.end()) {
      match_.attributes_.emplace_back(wanted.text, std::move(found));
    } else if (!SameAttribute(was->second, found)) {
      return No(Shown{graph_, node}, ": attribute ", wanted.name, " differs from another node's");
    }
  }
  return true;
}

bool Matcher::IsNumber(double number, ValueId value) const {
  const Tensor* constant = graph_.value(value).constant();
  const auto found = constant != nullptr ? OnlyElement(*constant) : std::nullopt;
  // 1e-5: exporters write constants such as sqrt(2) in float, and some round them to five digits. Half has eleven bits.
  const double tolerance = found && Bits(constant->dtype()) == 16 ? 1e-3 : 1e-5;
  return found && std::abs(*found - number) <= tolerance * std::max(std::abs(*found), std::abs(number));
}

bool Matcher::InnerValuesStayInside() {
  const auto is_kept = [&](ValueId value) {
    return std::any_of(rule_.text->kept.begin(), rule_.text->kept.end(),
                       [&](std::string_view name) { return match_.value(name) == value; });
  };
  for (const NodeId id : match_.nodes_) {
    const bool root = id == match_.root_;
    if (!root && rule_.rule->shares) continue;
    const std::vector<ValueId>& outputs = graph_.node(id).outputs;
    for (std::size_t i = root ? 1 : 0; i < outputs.size(); ++i) {
      if (outputs[i] == kNoValue || is_kept(outputs[i])) continue;
      const ValueInfo& info = graph_.value(outputs[i]);
      if (root && graph_.UseCount(outputs[i]) != 0)
        return No(Shown{graph_, graph_.node(id)}, ": its further outputs are used");
      if (info.is_output) return No("'", info.name, "' is a graph output");
      for (const NodeId consumer : info.consumers)
        if (std::find(match_.nodes_.begin(), match_.nodes_.end(), consumer) == match_.nodes_.end())
          return No("'", info.name, "' is also used by ", Shown{graph_, graph_.node(consumer)});
    }
  }
  return true;
}

// All goals are met.
bool Matcher::Accept() {
  if (!InnerValuesStayInside()) return false;
  if (rule_.rule->when == nullptr) return true;
  const Match::Mark mark = match_.Here();
  match_.reason_.clear();
  if (rule_.rule->when(match_)) return true;
  match_.GoBack(mark);
  match_.constants_.clear();
  match_.numbers_have_axes_ = false;
  if (!rejected_ || reason_.empty()) reason_ = match_.reason_;  // of several ways the first one's
  rejected_ = true;
  furthest_ = std::max(furthest_, rule_.rule->match.nodes);
  return false;
}

}  // namespace sardonyx::optimizer
