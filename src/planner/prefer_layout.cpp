// planner/prefer_layout.cpp - goes through the nodes in order; a value exists in the layouts that its readers want.
#include "planner/prefer_layout.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ops/channels_last.h"
#include "ops/layout.h"
#include "ops/op_def.h"
#include "ops/schema/schema.h"

namespace sardonyx::planner {
namespace {

bool IsImage(const Type& type) { return type.is_tensor() && type.has_rank && type.rank() >= 3 && type.rank() <= 5; }

class Mover {
 public:
  Mover(Graph& graph, const ops::Registry& registry, const providers::Provider& provider)
      : graph_(graph), registry_(registry), provider_(provider) {}

  bool Run(const std::set<NodeId>& wanted) {
    for (const NodeId id : std::vector<NodeId>(graph_.order))
      if (wanted.count(id) != 0) Move(id);
    if (moved_.empty()) return false;
    for (const ValueId value : moved_) {
      const ValueInfo& info = graph_.value(value);
      if (info.consumers.empty() && !info.is_output) continue;
      const ValueId made = Transpose(last_of_.at(value), info.type, false);
      graph_.MoveOutput(graph_.value(made).producer, 0, value);
    }
    graph_.SortTopologically();
    return true;
  }

 private:
  // Whether the node means today what it meant in its opset.
  static bool IsCurrent(const Node& node, const ops::OpDef& op) {
    return op.upgrade == nullptr || node.since_version == *(op.since.end() - 1);
  }

  bool HasOneImageOutput(const Node& node) const {
    return !node.outputs.empty() && node.outputs[0] != kNoValue && IsImage(graph_.value(node.outputs[0]).type) &&
           std::all_of(node.outputs.begin() + 1, node.outputs.end(), [](ValueId id) { return id == kNoValue; });
  }

  void Move(NodeId id) {
    const Node& node = graph_.node(id);
    const ops::OpDef* op = registry_.Find(node.domain, node.op_type, node.since_version);
    if (op == nullptr || node.inputs.empty() || node.inputs[0] == kNoValue || !HasOneImageOutput(node)) return;
    const std::size_t rank = graph_.value(node.outputs[0]).type.rank();
    const auto fits = [&](ValueId input) {
      return input != kNoValue && IsImage(graph_.value(input).type) && graph_.value(input).type.rank() == rank;
    };
    const ops::OpDef* last = node.domain.empty() ? registry_.Find(ops::kChannelsLastDomain, node.op_type, 1) : nullptr;
    if (last != nullptr && provider_.WantsChannelsLast(node.domain, node.op_type).value_or(true)) {
      if (!IsCurrent(node, *op) || !fits(node.inputs[0]) || !last->types.Has(graph_.value(node.inputs[0]).type.dtype))
        return;
      graph_.SetInput(id, 0, LastOf(node.inputs[0]));
      graph_.node(id).domain = ops::kChannelsLastDomain;
      graph_.node(id).since_version = 1;
      MoveResult(id);
    } else if ((op->traits & ops::kElementwise) != 0 && node.FindAttribute("axis") == nullptr &&
               std::all_of(node.inputs.begin(), node.inputs.end(),
                           [&](ValueId input) { return fits(input) && last_of_.count(input) != 0; })) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) graph_.SetInput(id, i, LastOf(node.inputs[i]));
      MoveResult(id);
    }
  }

  void MoveResult(NodeId id) {
    const ValueId value = graph_.node(id).outputs[0];
    const Type type = ops::TypeToLast(graph_.value(value).type);
    const ValueId other = graph_.AddValue(graph_.FreshName(graph_.value(value).name + "_last"), type);
    graph_.MoveOutput(id, 0, other);
    last_of_[value] = other;
    moved_.push_back(value);
  }

  ValueId LastOf(ValueId value) {
    const auto [entry, fresh] = last_of_.try_emplace(value, kNoValue);
    if (fresh) entry->second = Transpose(value, ops::TypeToLast(graph_.value(value).type), true);
    return entry->second;
  }

  ValueId Transpose(ValueId from, const Type& type, bool to_last) {
    Node node;
    node.op_type = "Transpose";
    node.since_version = ops::FindSchema("", "Transpose")->since_version;
    node.name = graph_.FreshName(graph_.value(from).name + "_Transpose");
    node.attributes = {{"perm", to_last ? ops::PermToLast(type.rank()) : ops::PermToFirst(type.rank())}};
    node.inputs = {from};
    node.outputs = {graph_.AddValue(graph_.FreshName(graph_.value(from).name + (to_last ? "_last" : "_first")), type)};
    const ValueId output = node.outputs[0];
    graph_.AddNode(std::move(node));
    return output;
  }

  Graph& graph_;
  const ops::Registry& registry_;
  const providers::Provider& provider_;
  std::unordered_map<ValueId, ValueId> last_of_;
  std::vector<ValueId> moved_;  // whose producers give them channels last now
};

}  // namespace

bool MoveToChannelsLast(Graph& graph, const ops::Registry& registry, const std::vector<NodeId>& nodes,
                        const providers::Provider& provider) {
  return Mover(graph, registry, provider).Run({nodes.begin(), nodes.end()});
}

}  // namespace sardonyx::planner
