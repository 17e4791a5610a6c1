// optimizer/rules/matcher.cpp - patterns against nodes: captures, constants, commutative operands, attributes, use
// counts.
#include "optimizer/rules/matcher.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "ops/schema/schema.h"
#include "ops/upgrade.h"

namespace sardonyx::optimizer {
namespace {

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

AttributeValue AttributeOrDefault(const Node& node, const std::string& name) {
  if (const AttributeValue* found = node.FindAttribute(name)) return *found;
  const ops::OpSchema* schema = ops::FindSchema(node.domain, node.op_type, node.since_version);
  const ops::AttributeSpec* spec = schema != nullptr ? schema->FindAttribute(name) : nullptr;
  return spec != nullptr ? spec->DefaultValue() : AttributeValue();
}

}  // namespace

ValueId Match::value(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? kNoValue : found->second;
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
  const auto found = attributes_.find(name);
  return found == attributes_.end() || found->second.index() == 0 ? nullptr : &found->second;
}

// A node in a message, put into words only if the message is.
struct Shown {
  const Graph& graph;
  const Node& node;
  friend std::ostream& operator<<(std::ostream& out, const Shown& shown) {
    return out << Describe(shown.graph, shown.node);
  }
};

template <typename... Parts>
bool Matcher::No(const Match& match, const Parts&... parts) {
  if (!explain_ || match.nodes_.size() < furthest_) return false;
  furthest_ = match.nodes_.size();
  std::ostringstream text;
  (text << ... << parts);
  reason_ = text.str();
  return false;
}

std::optional<Match> Matcher::Try(const Term& pattern, NodeId node) {
  furthest_ = 0;
  reason_.clear();
  Match match(graph_, registry_, explain_);
  match.root_ = node;
  if (!MatchNode(pattern, graph_.node(node), match) || !InnerValuesStayInside(match)) return std::nullopt;
  return match;
}

bool Matcher::MatchNode(const Term& term, const Node& node, Match& match) {
  if (node.op_type != term.name || node.domain != term.domain)
    return No(match, "expected ", term.name, ", found ", Shown{graph_, node});
  if (!ops::IsNewestSpelling(graph_, node, registry_))
    return No(match, Shown{graph_, node}, " is spelled as in version ", node.since_version);
  if (node.provider != graph_.node(match.root_).provider)
    return No(match, Shown{graph_, node}, " runs on another provider");
  if (node.inputs.size() > term.arguments.size())
    return No(match, Shown{graph_, node}, " has ", node.inputs.size(), " inputs, the pattern ", term.arguments.size());
  for (std::size_t i = 1; i < node.outputs.size(); ++i)
    if (node.outputs[i] != kNoValue && graph_.UseCount(node.outputs[i]) != 0)
      return No(match, Shown{graph_, node}, ": its further outputs are used");
  if (!MatchAttributes(term, node, match)) return false;
  if (std::find(match.nodes_.begin(), match.nodes_.end(), node.id) == match.nodes_.end())
    match.nodes_.push_back(node.id);
  const Match before = match;
  if (MatchArguments(term, node, false, match)) return true;
  const ops::OpDef* op = registry_.Find(node.domain, node.op_type, node.since_version);
  if (op == nullptr || (op->traits & ops::kCommutative) == 0 || term.arguments.size() < 2) return false;
  match = before;
  return MatchArguments(term, node, true, match);
}

bool Matcher::MatchArguments(const Term& term, const Node& node, bool swapped, Match& match) {
  for (std::size_t i = 0; i < term.arguments.size(); ++i) {
    const std::size_t from = swapped && i < 2 ? 1 - i : i;
    const ValueId value = from < node.inputs.size() ? node.inputs[from] : kNoValue;
    const Term& argument = term.arguments[i];
    if (value == kNoValue) {
      if (!argument.optional) return No(match, Shown{graph_, node}, ": input ", from, " is missing");
      match.values_[argument.name] = kNoValue;
    } else if (!MatchValue(argument, value, match)) {
      return false;
    }
  }
  return true;
}

bool Matcher::MatchAttributes(const Term& term, const Node& node, Match& match) {
  for (const Term::TermAttribute& wanted : term.attributes) {
    AttributeValue found = AttributeOrDefault(node, wanted.name);
    if (!wanted.capture.empty()) {
      const auto [at, fresh] = match.attributes_.try_emplace(wanted.capture, found);
      if (!fresh && !SameAttribute(at->second, found))
        return No(match, Shown{graph_, node}, ": attribute ", wanted.name, " differs from another node's");
    } else if (!SameAttribute(wanted.value, found)) {
      return No(match, Shown{graph_, node}, ": attribute ", wanted.name, " has another value");
    }
  }
  return true;
}

bool Matcher::MatchNumber(double number, ValueId value) {
  const Tensor* constant = graph_.value(value).constant();
  const auto found = constant != nullptr ? OnlyElement(*constant) : std::nullopt;
  // 1e-5: exporters write constants such as sqrt(2) in float, and some round them to five digits. Half has eleven bits.
  const double tolerance = found && Bits(constant->dtype()) == 16 ? 1e-3 : 1e-5;
  return found && std::abs(*found - number) <= tolerance * std::max(std::abs(*found), std::abs(number));
}

bool Matcher::MatchValue(const Term& term, ValueId value, Match& match) {
  switch (term.kind) {
    case Term::Kind::kAny:
      return true;
    case Term::Kind::kNumber:
      return MatchNumber(term.number, value) ||
             No(match, "'", graph_.value(value).name, "' is not the constant ", term.number);
    case Term::Kind::kCapture: {
      const auto [at, fresh] = match.values_.try_emplace(term.name, value);
      if (fresh || at->second == value) return true;
      if (at->second != kNoValue && SameContents(graph_.value(at->second).constant(), graph_.value(value).constant()))
        return true;
      return No(match, "'", graph_.value(value).name, "' is not the value captured as ", term.name);
    }
    case Term::Kind::kNode: {
      const NodeId producer = graph_.value(value).producer;
      if (producer == kNoNode) return No(match, "'", graph_.value(value).name, "' is not made by ", term.name);
      const Node& node = graph_.node(producer);
      if (node.outputs[0] != value)
        return No(match, "'", graph_.value(value).name, "' is not the first output of its node");
      return MatchNode(term, node, match);
    }
  }
  return false;
}

bool Matcher::InnerValuesStayInside(const Match& match) {
  for (const NodeId id : match.nodes_) {
    if (id == match.root_) continue;
    const ValueId output = graph_.node(id).outputs[0];
    const ValueInfo& info = graph_.value(output);
    const bool captured = std::any_of(match.values_.begin(), match.values_.end(),
                                      [&](const auto& entry) { return entry.second == output; });
    if (captured) continue;  // stays
    if (info.is_output) return No(match, "'", info.name, "' is a graph output");
    for (const NodeId consumer : info.consumers)
      if (std::find(match.nodes_.begin(), match.nodes_.end(), consumer) == match.nodes_.end())
        return No(match, "'", info.name, "' is also used by ", Shown{graph_, graph_.node(consumer)});
  }
  return true;
}

}  // namespace sardonyx::optimizer
