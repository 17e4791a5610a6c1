// optimizer/passes/fuse_elementwise.cpp - connected elementwise nodes of float become one ai.sardonyx.FusedElementwise.
//
// A group has one result that others read; every value inside has that result's shape, so that nothing is computed more
// often than before. Walking up from the outputs, a node joins the group of its readers if they are all of one group.
#include <algorithm>
#include <unordered_map>

#include "ops/fused_elementwise.h"
#include "optimizer/passes.h"
#include "optimizer/rewrite.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kMaxGroup = 16;  // nodes; keeps the number of blocks alive at once small

class ElementwiseFuser {
 public:
  ElementwiseFuser(Graph& graph, const ops::Registry& registry) : graph_(graph), registry_(registry) {}

  bool Run() {
    if (!HasOperator(registry_, "ai.sardonyx", "FusedElementwise")) return false;
    const std::vector<NodeId> order = graph_.order;
    for (std::size_t i = order.size(); i-- > 0;) Place(order[i]);
    bool changed = false;
    for (const NodeId id : order) {
      const auto members = members_.find(id);
      if (members != members_.end() && members->second.size() > 1) changed |= Fuse(id, members->second);
    }
    return changed;
  }

 private:
  bool SameShape(const Type& x, const Type& y) const {
    return x.rank() == y.rank() && std::equal(x.dims.begin(), x.dims.end(), y.dims.begin(),
                                              [](const Dim& d, const Dim& e) { return SameDim(d, e); });
  }

  bool IsCandidate(const Node& node) const {
    if (node.outputs.size() != 1 || node.inputs.empty() || !node.implicit_inputs.empty()) return false;
    const Type& y = graph_.value(node.outputs[0]).type;
    if (!y.is_tensor() || !y.has_rank || y.dtype != DType::kFloat || !ops::TapeStepOf(graph_, node)) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input == kNoValue ||
             (graph_.value(input).type.dtype == DType::kFloat && graph_.value(input).type.has_rank);
    });
  }

  // Into the group of its readers, or as the result of a new one.
  void Place(NodeId id) {
    const Node& node = graph_.node(id);
    if (!IsCandidate(node)) return;
    const ValueInfo& y = graph_.value(node.outputs[0]);
    NodeId group = kNoNode;
    bool one = !y.is_output && !y.consumers.empty();
    for (const NodeId reader : y.consumers) {
      const auto found = group_of_.find(reader);
      one = one && found != group_of_.end() && (group == kNoNode || group == found->second);
      if (one) group = found->second;
    }
    if (one) {
      const Node& result = graph_.node(group);
      std::vector<NodeId>& members = members_[group];
      one = result.provider == node.provider && members.size() < kMaxGroup &&
            SameShape(y.type, graph_.value(result.outputs[0]).type) && InputsWith(members, node) <= ops::kMaxTapeInputs;
      if (one) {
        members.push_back(id);
        group_of_[id] = group;
        return;
      }
    }
    group_of_[id] = id;
    members_[id] = {id};
  }

  std::size_t OperandCount(const Node& node) const { return ops::TapeStepOf(graph_, node)->binary ? 2 : 1; }

  // Inputs of the group from outside if `node` joins: an upper bound, counted without looking for equal ones.
  std::size_t InputsWith(const std::vector<NodeId>& members, const Node& node) const {
    std::size_t count = OperandCount(node);
    for (const NodeId member : members) count += OperandCount(graph_.node(member));
    return count - members.size();
  }

  bool Fuse(NodeId result, std::vector<NodeId> members) {
    std::reverse(members.begin(), members.end());  // they joined against the order of computation
    std::unordered_map<ValueId, std::int64_t> operand_of;
    std::vector<ValueId> inputs;
    std::vector<std::string> steps;
    std::vector<std::int64_t> operands;
    std::vector<float> parameters;
    for (const NodeId member : members) {
      const Node& node = graph_.node(member);
      const ops::TapeStep step = *ops::TapeStepOf(graph_, node);
      std::int64_t found[2] = {0, 0};
      for (std::size_t i = 0; i < (step.binary ? 2u : 1u); ++i) {
        const auto [at, fresh] = operand_of.try_emplace(node.inputs[i], static_cast<std::int64_t>(inputs.size()));
        if (fresh) inputs.push_back(node.inputs[i]);
        found[i] = at->second;
      }
      operands.insert(operands.end(), {found[0], step.binary ? found[1] : found[0]});
      parameters.insert(parameters.end(), {step.a, step.b});
      operand_of[node.outputs[0]] = -1 - static_cast<std::int64_t>(steps.size());
      steps.emplace_back(step.name);
    }
    if (inputs.size() > ops::kMaxTapeInputs) return false;
    Rewrite rewrite(graph_, registry_, result);
    const ValueId old = graph_.node(result).outputs[0];
    const ValueId y = rewrite.Add("ai.sardonyx", "FusedElementwise", inputs,
                                  {{"steps", steps}, {"operands", operands}, {"parameters", parameters}});
    rewrite.Replace(old, y);
    return true;
  }

  Graph& graph_;
  const ops::Registry& registry_;
  std::unordered_map<NodeId, NodeId> group_of_;              // the node that makes the group's result
  std::unordered_map<NodeId, std::vector<NodeId>> members_;  // from the result upwards
};

bool FuseElementwise(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return ElementwiseFuser(each, context.registry).Run(); });
}

}  // namespace

constinit const Pass kFuseElementwise = {.name = "fuse_elementwise", .level = Level::kExtended, .run = FuseElementwise};

}  // namespace sardonyx::optimizer
