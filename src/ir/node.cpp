// ir/node.cpp - copying of nested graphs, access to attributes, and how messages name a node.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ir/graph.h"

namespace sardonyx {
namespace {

// By AttributeProto.AttributeType, which are also the indices of AttributeValue.
constexpr std::array<std::string_view, 15> kAttributeTypeNames = {
    "undefined", "float",   "int",    "string",        "tensor",         "graph",      "floats",     "ints",
    "strings",   "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type_proto", "type_protos"};
static_assert(std::variant_size_v<AttributeValue> == kAttributeTypeNames.size() + 1);

template <typename G, typename Attributes>
std::vector<G*> SubgraphsOf(Attributes& attributes) {
  std::vector<G*> graphs;
  for (auto& attribute : attributes) {
    if (auto* one = std::get_if<GraphBox>(&attribute.value)) graphs.push_back(&**one);
    if (auto* several = std::get_if<std::vector<GraphBox>>(&attribute.value)) {
      for (auto& graph : *several) graphs.push_back(&*graph);
    }
  }
  return graphs;
}

}  // namespace

GraphBox::GraphBox() : graph_(std::make_unique<Graph>()) {}
GraphBox::GraphBox(Graph graph) : graph_(std::make_unique<Graph>(std::move(graph))) {}
GraphBox::GraphBox(const GraphBox& other) : graph_(other.graph_ ? std::make_unique<Graph>(*other.graph_) : nullptr) {}
GraphBox::GraphBox(GraphBox&& other) noexcept = default;
GraphBox& GraphBox::operator=(const GraphBox& other) {
  if (this != &other) graph_ = other.graph_ ? std::make_unique<Graph>(*other.graph_) : nullptr;
  return *this;
}
GraphBox& GraphBox::operator=(GraphBox&& other) noexcept = default;
GraphBox::~GraphBox() = default;

int AttributeTypeOf(const AttributeValue& value) {
  if (const auto* reference = std::get_if<AttributeReference>(&value)) return reference->type;
  return static_cast<int>(value.index());
}

std::string_view AttributeTypeName(int type) {
  const auto index = static_cast<std::size_t>(type);
  return kAttributeTypeNames[type > 0 && index < kAttributeTypeNames.size() ? index : 0];
}

const AttributeValue* Node::FindAttribute(std::string_view attribute) const {
  for (const Attribute& candidate : attributes) {
    if (candidate.name == attribute) return &candidate.value;
  }
  return nullptr;
}

AttributeValue* Node::FindAttribute(std::string_view attribute) {
  for (Attribute& candidate : attributes) {
    if (candidate.name == attribute) return &candidate.value;
  }
  return nullptr;
}

void Node::SetAttribute(std::string_view attribute, AttributeValue value) {
  if (AttributeValue* known = FindAttribute(attribute)) {
    *known = std::move(value);
  } else {
    attributes.push_back({std::string(attribute), std::move(value)});
  }
}

bool Node::RemoveAttribute(std::string_view attribute) {
  return std::erase_if(attributes, [&](const Attribute& candidate) { return candidate.name == attribute; }) != 0;
}

std::vector<Graph*> Node::Subgraphs() { return SubgraphsOf<Graph>(attributes); }
std::vector<const Graph*> Node::Subgraphs() const { return SubgraphsOf<const Graph>(attributes); }

std::string Describe(const Graph& graph, const Node& node) {
  const std::string op = node.domain.empty() ? node.op_type : node.domain + "." + node.op_type;
  if (!node.name.empty()) return "node '" + node.name + "' (" + op + ")";
  std::string text = "node #" + (node.id == kNoNode ? std::string("?") : std::to_string(node.id)) + " (" + op;
  for (const ValueId output : node.outputs) {
    if (output >= graph.values.size()) continue;
    return text + ", output '" + graph.values[output].name + "')";
  }
  return text + ")";
}

namespace {

// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, previous);
    std::swap(previous, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row.back();
}

}  // namespace

std::string ClosestName(std::string_view name, const std::vector<std::string>& candidates) {
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::size_t steps_left = std::size_t{1} << 25;  // a graph may have a million names, or names of a megabyte
  std::string closest;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= best) continue;
    if (longer > 1000 || name.size() * candidate.size() > steps_left) break;
    steps_left -= name.size() * candidate.size();
    const std::size_t distance = EditDistance(name, candidate);
    if (distance >= best) continue;
    best = distance;
    closest = candidate;
  }
  return closest;
}

}  // namespace sardonyx
