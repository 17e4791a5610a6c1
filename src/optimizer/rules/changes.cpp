// optimizer/rules/changes.cpp - finds the nodes that are gone, new or different, and what took the place of each.
//
// A node that is gone went into the node that makes its output now, or else into what became of the nodes that read it:
// a chain that was fused ends in one new node, and a node that was removed ends in the value that its readers read
// instead.
#include "optimizer/rules/changes.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace sardonyx::optimizer {
namespace {

std::string OperatorOf(const Node& node) {
  return node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
}

// Tensors and graphs are not compared: a pass that changes them changes something else, too.
bool IsCompared(const AttributeValue& value) {
  return std::holds_alternative<std::int64_t>(value) || std::holds_alternative<float>(value) ||
         std::holds_alternative<std::string>(value) || std::holds_alternative<std::vector<std::int64_t>>(value) ||
         std::holds_alternative<std::vector<float>>(value);
}

bool SameAttribute(const Attribute& a, const Attribute& b) {
  if (a.name != b.name || a.value.index() != b.value.index()) return false;
  const auto same = [&]<typename T>(const T* x) { return x == nullptr || *x == std::get<T>(b.value); };
  return same(std::get_if<std::int64_t>(&a.value)) && same(std::get_if<float>(&a.value)) &&
         same(std::get_if<std::string>(&a.value)) && same(std::get_if<std::vector<std::int64_t>>(&a.value)) &&
         same(std::get_if<std::vector<float>>(&a.value));
}

// What is known of a node that a pass may erase.
struct Old {
  std::string text, op, name;
  std::vector<ValueId> inputs, outputs;
  std::vector<Attribute> attributes;  // without graphs
};

struct OldGraph {
  std::map<NodeId, Old> nodes;  // ids grow with the order in which nodes were made
  std::unordered_map<ValueId, std::vector<NodeId>> readers;
  std::map<std::pair<NodeId, std::size_t>, OldGraph> bodies;
};

void Remember(const Graph& graph, OldGraph& old) {
  for (const NodeId id : graph.order) {
    const Node& node = graph.node(id);
    Old& entry = old.nodes[id];
    entry = {Describe(graph, node), OperatorOf(node), node.name, node.inputs, node.outputs, {}};
    for (const Attribute& attribute : node.attributes)
      if (IsCompared(attribute.value)) entry.attributes.push_back(attribute);
    for (const ValueId input : node.inputs)
      if (input != kNoValue) old.readers[input].push_back(id);
    const auto bodies = node.Subgraphs();
    for (std::size_t i = 0; i < bodies.size(); ++i) Remember(*bodies[i], old.bodies[{id, i}]);
  }
}

// What took a node's place.
struct Successor {
  enum class Kind { kNothing, kNode, kConstant, kValue } kind = Kind::kNothing;
  NodeId node = kNoNode;
  ValueId value = kNoValue;
  bool operator<(const Successor& other) const {
    return std::tie(kind, node, value) < std::tie(other.kind, other.node, other.value);
  }
};

class Comparison {
 public:
  Comparison(const OldGraph& old, const Graph& now, Explanation& explanation, std::set<std::string>& gone)
      : old_(old), now_(now), explanation_(explanation), gone_(gone) {
    for (const NodeId id : now.order)
      if (old.nodes.count(id) == 0) added_[{now.node(id).name, OperatorOf(now.node(id))}] = id;
  }

  void Tell() {
    std::map<Successor, std::vector<NodeId>> groups;
    for (const auto& [id, old] : old_.nodes) {
      if (IsAlive(id)) continue;
      gone_.insert(old.text);
      groups[SuccessorOf(id)].push_back(id);
    }
    for (const auto& [id, old] : old_.nodes)
      if (IsAlive(id) && IsOther(id)) groups[{Successor::Kind::kNode, id, kNoValue}];
    for (const auto& [successor, members] : groups) TellGroup(successor, members);
    TellAdded(groups);
  }

 private:
  bool IsAlive(NodeId id) const { return !now_.node(id).erased; }

  // Another operator, or with other attributes.
  bool IsOther(NodeId id) const {
    const Node& node = now_.node(id);
    const Old& old = old_.nodes.at(id);
    if (OperatorOf(node) != old.op) return true;
    std::size_t compared = 0;
    for (const Attribute& attribute : node.attributes) {
      if (!IsCompared(attribute.value)) continue;
      ++compared;
      const bool same = std::any_of(old.attributes.begin(), old.attributes.end(),
                                    [&](const Attribute& each) { return SameAttribute(each, attribute); });
      if (!same) return true;
    }
    return compared != old.attributes.size() || node.inputs.size() != old.inputs.size();
  }

  Successor OfValue(ValueId value) const {
    if (value == kNoValue) return {};
    const ValueInfo& info = now_.value(value);
    if (info.constant() != nullptr) return {Successor::Kind::kConstant, kNoNode, value};
    if (info.producer != kNoNode && old_.nodes.count(info.producer) == 0)
      return {Successor::Kind::kNode, info.producer, kNoValue};
    return {Successor::Kind::kValue, kNoNode, value};
  }

  Successor SuccessorOf(NodeId id) {
    if (const auto known = found_.find(id); known != found_.end()) return known->second;
    return found_[id] = Find(id);
  }

  Successor Find(NodeId id) {
    const Old& old = old_.nodes.at(id);
    const auto again = old.name.empty() ? added_.end() : added_.find({old.name, old.op});
    if (again != added_.end()) return {Successor::Kind::kNode, again->second, kNoValue};
    for (const ValueId output : old.outputs) {
      if (output == kNoValue) continue;
      const ValueInfo& value = now_.value(output);
      if (value.producer != kNoNode) return {Successor::Kind::kNode, value.producer, kNoValue};
      if (value.constant() != nullptr) return OfValue(output);
    }
    for (const ValueId output : old.outputs) {
      const auto readers = old_.readers.find(output);
      if (output == kNoValue || readers == old_.readers.end()) continue;
      for (const NodeId reader : readers->second) {
        const Successor successor = IsAlive(reader) ? Instead(output, reader) : SuccessorOf(reader);
        if (successor.kind != Successor::Kind::kNothing) return successor;
      }
    }
    return {};
  }

  // What a node that is still there reads instead of a value, or the node itself if it took the producer in.
  Successor Instead(ValueId value, NodeId reader) const {
    if (IsOther(reader)) return {Successor::Kind::kNode, reader, kNoValue};
    const Old& old = old_.nodes.at(reader);
    const Node& node = now_.node(reader);
    const auto at =
        static_cast<std::size_t>(std::find(old.inputs.begin(), old.inputs.end(), value) - old.inputs.begin());
    return at < node.inputs.size() ? OfValue(node.inputs[at]) : Successor();
  }

  std::string Operators(const std::vector<NodeId>& members) const {
    std::vector<std::pair<std::string, int>> counts;
    for (const NodeId id : members) {
      const std::string& op = old_.nodes.at(id).op;
      const auto found = std::find_if(counts.begin(), counts.end(), [&](const auto& each) { return each.first == op; });
      if (found == counts.end()) {
        counts.emplace_back(op, 1);
      } else {
        ++found->second;
      }
    }
    std::string text;
    for (const auto& [op, count] : counts)
      text += (text.empty() ? "" : ", ") + (count > 1 ? std::to_string(count) + " " : "") + op;
    return text;
  }

  void TellGroup(const Successor& successor, const std::vector<NodeId>& members) {
    std::vector<std::string> nodes;
    for (const NodeId id : members) nodes.push_back(old_.nodes.at(id).text);
    std::string from = Operators(members), to, result;
    switch (successor.kind) {
      case Successor::Kind::kNode: {
        const Node& node = now_.node(successor.node);
        const auto before = old_.nodes.find(successor.node);
        if (before != old_.nodes.end()) {  // it was there, and took the others in
          gone_.insert(before->second.text);
          nodes.insert(nodes.begin(), before->second.text);
          from = from.empty() ? before->second.op : before->second.op + ", " + from;
        }
        to = OperatorOf(node);
        result = Describe(now_, node);
        break;
      }
      case Successor::Kind::kConstant:
        to = "constant";
        result = "constant '" + now_.value(successor.value).name + "' " + now_.value(successor.value).type.ToText();
        break;
      case Successor::Kind::kValue:
        to = "a value that exists";
        result = "its readers read '" + now_.value(successor.value).name + "'";
        break;
      case Successor::Kind::kNothing:
        to = "nothing, as nobody reads it";
        result = "nothing, as nobody reads it";
        break;
    }
    const std::string kind = from + " -> " + to;
    if (successor.kind == Successor::Kind::kConstant || members.size() <= 1 ||
        successor.kind == Successor::Kind::kNode) {
      explanation_.Rewrote(nodes, kind, result);
      return;
    }
    for (const NodeId id : members)  // each by itself
      explanation_.Rewrote({old_.nodes.at(id).text}, old_.nodes.at(id).op + " -> " + to, result);
  }

  // New nodes that took no other's place.
  void TellAdded(const std::map<Successor, std::vector<NodeId>>& groups) {
    for (const NodeId id : now_.order) {
      if (old_.nodes.count(id) != 0 || groups.count({Successor::Kind::kNode, id, kNoValue}) != 0) continue;
      explanation_.Rewrote({}, "new " + OperatorOf(now_.node(id)), Describe(now_, now_.node(id)));
    }
  }

  const OldGraph& old_;
  const Graph& now_;
  Explanation& explanation_;
  std::set<std::string>& gone_;
  std::map<std::pair<std::string, std::string>, NodeId> added_;  // by name and operator
  std::unordered_map<NodeId, Successor> found_;
};

void TellOf(const OldGraph& old, const Graph& now, Explanation& explanation, std::set<std::string>& gone) {
  Comparison(old, now, explanation, gone).Tell();
  for (const auto& [place, body] : old.bodies) {
    if (now.node(place.first).erased) continue;
    const auto bodies = now.node(place.first).Subgraphs();
    if (place.second < bodies.size()) TellOf(body, *bodies[place.second], explanation, gone);
  }
}

}  // namespace

struct Changes::Before {
  OldGraph graph;
};

Changes::Changes(const Graph& graph) : before_(std::make_unique<Before>()) { Remember(graph, before_->graph); }
Changes::~Changes() = default;

std::set<std::string> Changes::Tell(const Graph& graph, Explanation& explanation) const {
  std::set<std::string> gone;
  TellOf(before_->graph, graph, explanation, gone);
  return gone;
}

}  // namespace sardonyx::optimizer
