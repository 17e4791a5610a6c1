// ir/graph.cpp - edits of a graph, each keeping producers, consumers, names and captures consistent.
#include "ir/graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <span>

#include "base/error.h"
#include "ir/domain.h"

namespace sardonyx {
namespace {

template <typename T>
bool Contains(const std::vector<T>& list, const T& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// Removes one entry of a node, or all entries of several nodes, of which `gone` has one for each entry. The order
// stays. `gone` is sorted by `before`, and `list` mostly is: readers are added in the order of their ids. Then only
// what lies behind the first entry is moved, once.
template <typename Before>
void Remove(std::vector<NodeId>& list, std::span<const NodeId> gone, const Before& before) {
  std::vector<std::vector<NodeId>::iterator> places;
  auto from = list.begin();
  for (const NodeId node : gone) {
    const auto found = std::lower_bound(from, list.end(), node, before);
    if (found == list.end() || *found != node) break;
    places.push_back(found);
    from = found + 1;
  }
  if (places.size() < gone.size()) {  // not sorted
    if (gone.size() == 1) {
      if (const auto found = std::find(list.begin(), list.end(), gone[0]); found != list.end()) list.erase(found);
    } else {
      std::vector<NodeId> sorted(gone.begin(), gone.end());
      std::sort(sorted.begin(), sorted.end());
      std::erase_if(list, [&](NodeId node) { return std::binary_search(sorted.begin(), sorted.end(), node); });
    }
    return;
  }
  places.push_back(list.end());
  auto end = places[0];
  for (std::size_t i = 0; i < gone.size(); ++i) end = std::move(places[i] + 1, places[i + 1], end);
  list.erase(end, list.end());
}

void RemoveOne(std::vector<NodeId>& list, NodeId node) { Remove(list, {&node, 1}, std::less<>()); }

// Gives the captured value `inner` of `graph` the name that the outer value now has.
void RenameCaptured(Graph& graph, ValueId inner, const std::string& name) {
  if (graph.value(inner).name == name) return;
  const std::optional<ValueId> other = graph.Find(name);
  if (other && graph.value(*other).is_captured) {  // that value is captured already
    graph.ReplaceUses(inner, *other);
    for (ValueId& output : graph.outputs) {
      if (output != inner) continue;
      output = *other;
      graph.value(*other).is_output = true;
    }
    graph.value(inner).is_output = false;
    return;
  }
  if (other) graph.Rename(*other, graph.FreshName(name));
  graph.Rename(inner, name);
}

void RenameCapturesOf(Node& node, ValueId outer, const std::string& name) {
  for (Graph* subgraph : node.Subgraphs()) {
    const std::vector<Capture> captures = subgraph->captures;
    for (const Capture& capture : captures) {
      if (capture.outer == outer) RenameCaptured(*subgraph, capture.inner, name);
    }
  }
}

}  // namespace

ValueId Graph::AddValue(std::string_view name_wanted, Type type) {
  std::string own(name_wanted);
  if (own.empty()) own = FreshName("value");
  const auto id = static_cast<ValueId>(values.size());
  if (!by_name_.try_emplace(own, id).second) {
    Fail(Code::kInvalidGraph, "expected a new name for a value, found '", own, "' twice");
  }
  ValueInfo& info = values.emplace_back();
  info.name = std::move(own);
  info.type = std::move(type);
  return id;
}

ValueId Graph::AddInput(std::string_view name_wanted, Type type) {
  const ValueId id = AddValue(name_wanted, std::move(type));
  values[id].is_input = true;
  inputs.push_back(id);
  return id;
}

void Graph::AddOutput(ValueId value) {
  values[value].is_output = true;
  outputs.push_back(value);
}

ValueId Graph::AddConstant(std::string_view prefix, Tensor tensor) {
  auto initializer = std::make_shared<Initializer>();
  const ValueId id = AddValue(FreshName(prefix), Type::TensorOf(tensor.dtype(), Dims(tensor.shape())));
  initializer->tensor = std::move(tensor);
  values[id].initializer = std::move(initializer);
  return id;
}

ValueId Graph::AddCaptured(std::string_view outer_name) {
  if (const std::optional<ValueId> known = Find(outer_name)) return *known;
  const ValueId id = AddValue(outer_name);
  values[id].is_captured = true;
  captures.push_back({id, kNoValue});
  return id;
}

void Graph::SetInitializer(ValueId value, std::shared_ptr<const Initializer> initializer) {
  if (values[value].producer != kNoNode) {
    Fail(Code::kInvalidGraph, "expected an initializer without a producer, found '", values[value].name, "' made by ",
         Describe(*this, nodes[values[value].producer]));
  }
  values[value].initializer = std::move(initializer);
}

std::optional<ValueId> Graph::Find(std::string_view value_name) const {
  const auto found = by_name_.find(std::string(value_name));
  if (found == by_name_.end()) return std::nullopt;
  return found->second;
}

std::string Graph::FreshName(std::string_view prefix) const {
  std::string fresh(prefix);
  while (fresh.empty() || by_name_.count(fresh) != 0) fresh = std::string(prefix) + "_" + std::to_string(++fresh_);
  return fresh;
}

void Graph::Rename(ValueId value, std::string_view new_name) {
  ValueInfo& info = values[value];
  if (info.name == new_name) return;
  std::string own(new_name);
  if (own.empty() || !by_name_.try_emplace(own, value).second) {
    Fail(Code::kInvalidGraph, "expected a new name for value '", info.name, "', found '", own, "'");
  }
  by_name_.erase(info.name);
  info.name = own;
  const std::vector<NodeId> users = info.consumers;
  for (const NodeId user : users) {
    if (!Contains(nodes[user].implicit_inputs, value)) continue;
    RenameCapturesOf(nodes[user], value, own);
    RefreshCaptures(user);
  }
}

NodeId Graph::AddNode(Node node) {
  const auto id = static_cast<NodeId>(nodes.size());
  node.id = id;
  node.erased = false;
  node.implicit_inputs.clear();
  for (const ValueId input : node.inputs) {
    if (input != kNoValue && input >= values.size()) {
      Fail(Code::kInvalidGraph, Describe(*this, node), ": expected inputs among the ", values.size(),
           " values of its graph, found value ", input);
    }
  }
  std::vector<ValueId> sorted = node.outputs;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const ValueId output = sorted[i];
    if (output == kNoValue) continue;
    const bool twice = i > 0 && sorted[i - 1] == output;
    const ValueInfo* info = output < values.size() ? &values[output] : nullptr;
    if (twice || !info || info->producer != kNoNode || info->is_input || info->is_captured || info->initializer) {
      Fail(Code::kInvalidGraph, Describe(*this, node), ": expected outputs that nothing else defines, found ",
           info ? "'" + info->name + "'" : std::to_string(output));
    }
  }
  node.order_hint = order.empty() ? 0 : nodes[order.back()].order_hint + 1;
  Node& added = nodes.emplace_back(std::move(node));
  order.push_back(id);
  for (const ValueId input : added.inputs) {
    if (input != kNoValue) values[input].consumers.push_back(id);
  }
  for (const ValueId output : added.outputs) {
    if (output != kNoValue) values[output].producer = id;
  }
  RefreshCaptures(id);
  return id;
}

ValueId Graph::AddNode(std::string_view domain, std::string_view op_type, std::vector<ValueId> node_inputs,
                       std::vector<Attribute> attributes, Type output_type, std::string_view output_name) {
  Node node;
  node.domain = domain;
  node.op_type = op_type;
  node.inputs = std::move(node_inputs);
  node.attributes = std::move(attributes);
  const ValueId output = AddValue(FreshName(output_name.empty() ? op_type : output_name), std::move(output_type));
  node.name = values[output].name;
  node.outputs = {output};
  AddNode(std::move(node));
  return output;
}

void Graph::EraseNode(NodeId id) { EraseNodes({id}); }

void Graph::EraseNodes(const std::vector<NodeId>& erased) {
  std::vector<std::pair<ValueId, NodeId>> uses;
  std::vector<NodeId> gone;
  for (const NodeId id : erased) {
    Node& node = nodes[id];
    if (node.erased) continue;
    node.erased = true;
    gone.push_back(id);
    for (std::vector<ValueId>* list : {&node.inputs, &node.implicit_inputs}) {
      for (const ValueId input : *list)
        if (input != kNoValue) uses.emplace_back(input, id);
      list->clear();
    }
    for (const ValueId output : node.outputs) {
      if (output != kNoValue) values[output].producer = kNoNode;
    }
    node.outputs.clear();
  }
  std::sort(uses.begin(), uses.end());
  std::vector<NodeId> readers;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    readers.push_back(uses[i].second);
    if (i + 1 < uses.size() && uses[i + 1].first == uses[i].first) continue;
    Remove(values[uses[i].first].consumers, readers, std::less<>());
    readers.clear();
  }
  // The hints rise along the order, unless others sorted it.
  const auto before = [this](NodeId a, NodeId b) { return nodes[a].order_hint < nodes[b].order_hint; };
  std::sort(gone.begin(), gone.end(), before);
  Remove(order, gone, before);
}

void Graph::SetInput(NodeId id, std::size_t index, ValueId value) {
  std::vector<ValueId>& list = nodes[id].inputs;
  if (index >= list.size()) list.resize(index + 1, kNoValue);
  if (list[index] != kNoValue) RemoveOne(values[list[index]].consumers, id);
  list[index] = value;
  if (value != kNoValue) values[value].consumers.push_back(id);
}

void Graph::ReplaceUses(ValueId from, ValueId to) {
  if (from == to) return;
  std::vector<NodeId> users = std::move(values[from].consumers);
  values[from].consumers.clear();
  users.erase(std::unique(users.begin(), users.end()), users.end());
  for (const NodeId user : users) {
    Node& reader = nodes[user];
    for (ValueId& input : reader.inputs) {
      if (input != from) continue;
      input = to;
      values[to].consumers.push_back(user);
    }
    if (!Contains(reader.implicit_inputs, from)) continue;
    values[from].consumers.push_back(user);  // RefreshCaptures takes it away again
    RenameCapturesOf(reader, from, values[to].name);
    RefreshCaptures(user);
  }
}

void Graph::MoveOutput(NodeId id, std::size_t index, ValueId value) {
  std::vector<ValueId>& made = nodes[id].outputs;
  if (index < made.size() && made[index] == value) return;
  if (const NodeId former = values[value].producer; former != kNoNode) {
    std::replace(nodes[former].outputs.begin(), nodes[former].outputs.end(), value, kNoValue);
  }
  if (index >= made.size()) made.resize(index + 1, kNoValue);
  if (made[index] != kNoValue) values[made[index]].producer = kNoNode;
  made[index] = value;
  values[value].producer = id;
}

void Graph::RefreshCaptures(NodeId id) {
  Node& node = nodes[id];
  for (const ValueId captured : node.implicit_inputs) RemoveOne(values[captured].consumers, id);
  node.implicit_inputs.clear();
  for (Graph* subgraph : node.Subgraphs()) {
    subgraph->captures.clear();
    for (ValueId inner = 0; inner < subgraph->values.size(); ++inner) {
      const ValueInfo& info = subgraph->values[inner];
      if (!info.is_captured || (info.consumers.empty() && !info.is_output)) continue;
      const ValueId outer = AddCaptured(info.name);
      subgraph->captures.push_back({inner, outer});
      if (Contains(node.implicit_inputs, outer)) continue;
      node.implicit_inputs.push_back(outer);
      values[outer].consumers.push_back(id);
    }
  }
}

std::size_t Graph::UseCount(ValueId value) const {
  return values[value].consumers.size() + (values[value].is_output ? 1 : 0);
}

std::int64_t Graph::OpsetVersion(std::string_view domain) const {
  for (const OpsetImport& import : opset_imports) {
    if (StandardDomain(import.domain) == StandardDomain(domain)) return import.version;
  }
  return 0;
}

const Function* Model::FindFunction(std::string_view function_domain, std::string_view name,
                                    std::string_view overload) const {
  for (const Function& function : functions) {
    if (function.name == name && function.overload == overload &&
        StandardDomain(function.domain) == StandardDomain(function_domain)) {
      return &function;
    }
  }
  return nullptr;
}

}  // namespace sardonyx
