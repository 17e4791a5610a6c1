// optimizer/passes/fuse/fuse_elementwise.cpp - connected elementwise nodes of float become one
// ai.sardonyx.FusedElementwise.
//
// Only the result of a group is read outside. Every value inside has that result's shape, so that nothing is computed
// more often than before. The pass walks up from the outputs: a node joins the group of its readers if they are all in
// one group.
//
// A group may end with QuantizeLinear and have quantized values inside. Where it reads what DequantizeLinear makes of
// an 8-bit tensor, it reads that tensor instead; one function is group enough then. Likewise it may end with a Cast to
// float16 or bfloat16, and read tensors of these types.
#include <algorithm>
#include <unordered_map>

#include "ops/fused_elementwise.h"
#include "optimizer/passes/passes.h"
#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kMaxGroup = 16;  // nodes; keeps the number of blocks alive at once small

class ElementwiseFuser {
 public:
  ElementwiseFuser(Graph& graph, const PassContext& context)
      : graph_(graph), registry_(context.registry), context_(context) {}

  bool Run() {
    if (!HasOperator(registry_, "ai.sardonyx", "FusedElementwise")) return false;
    const std::vector<NodeId> order = OwnNodes(graph_);
    for (std::size_t i = order.size(); i-- > 0;) Place(order[i]);
    bool changed = false;
    for (const NodeId id : order) {
      const auto members = members_.find(id);
      if (members != members_.end() && (members->second.size() > 1 || IsFunctionOfBytes(id)))
        changed |= Fuse(id, members->second);
    }
    return changed;
  }

 private:
  bool SameShape(const Type& x, const Type& y) const {
    return x.rank() == y.rank() && std::equal(x.dims.begin(), x.dims.end(), y.dims.begin(),
                                              [](const Dim& d, const Dim& e) { return SameDim(d, e); });
  }

  // What QuantizeLinear makes, of one scale, for a DequantizeLinear alone: the two are one step of a tape.
  std::optional<QuantizedValue> Requantized(const Node& node) const {
    if (!IsDequantize(node)) return std::nullopt;
    const auto x = DequantizedFrom(graph_, node.outputs[0]);
    if (!x || SoleReader(graph_, x->data) != node.id) return std::nullopt;
    const auto y = x->IsPerTensor8() ? QuantizedBy(graph_, graph_.value(x->data).producer) : std::nullopt;
    const bool together = y && y->SameAs(*x) && graph_.node(y->node).provider == node.provider;
    return together && graph_.value(graph_.node(y->node).inputs[0]).type.has_rank ? y : std::nullopt;
  }
  bool IsQuantization(const Node& node) const {
    if (!IsQuantize(node)) return false;
    const auto y = QuantizedBy(graph_, node.id);
    return y && y->IsPerTensor8() && graph_.value(node.inputs[0]).type.has_rank;
  }

  static bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }
  // A Cast from float to half precision, which ends a group.
  bool IsNarrowing(const Node& node) const {
    if (!node.domain.empty() || node.op_type != "Cast") return false;
    const Type &x = graph_.value(node.inputs[0]).type, &y = graph_.value(node.outputs[0]).type;
    return x.is_tensor() && x.has_rank && y.has_rank && x.dtype == DType::kFloat && IsHalf(y.dtype);
  }
  // The half-precision tensor that a Cast makes a float value of.
  ValueId WidenedFrom(ValueId value, const std::string& provider) const {
    const Node* cast = ProducerOf(graph_, value, "Cast");
    if (cast == nullptr || cast->provider != provider || graph_.value(value).type.dtype != DType::kFloat)
      return kNoValue;
    return IsHalf(graph_.value(cast->inputs[0]).type.dtype) ? cast->inputs[0] : kNoValue;
  }

  std::optional<ops::TapeStep> StepOf(const Node& node) const {
    if (const auto y = Requantized(node))
      return ops::TapeStep{y->dtype == DType::kInt8 ? "QuantizeInt8" : "QuantizeUInt8", false,
                           static_cast<float>(y->scale_value), static_cast<float>(y->zero_value)};
    return ops::TapeStepOf(graph_, node);
  }
  // A function of one value that DequantizeLinear makes for it alone: together they spare a tensor of floats.
  bool IsFunctionOfBytes(NodeId id) const {
    const Node& node = graph_.node(id);
    const auto step = StepOf(node);
    if (!step || step->binary || Requantized(node)) return false;
    const auto x = DequantizedFrom(graph_, node.inputs[0]);
    return x && x->IsPerTensor8() && graph_.node(x->node).provider == node.provider &&
           SoleReader(graph_, node.inputs[0]) == id;
  }
  // Operand i of the node's step.
  ValueId OperandOf(const Node& node, std::size_t i) const {
    return Requantized(node) ? graph_.node(graph_.value(node.inputs[0]).producer).inputs[0] : node.inputs[i];
  }

  bool IsCandidate(const Node& node) const {
    if (Requantized(node)) return graph_.value(node.outputs[0]).type.has_rank;
    if (node.outputs.size() != 1 || node.inputs.empty() || !node.implicit_inputs.empty()) return false;
    const Type& y = graph_.value(node.outputs[0]).type;
    if (!y.is_tensor() || !y.has_rank || y.dtype != DType::kFloat) return false;
    const auto step = ops::TapeStepOf(graph_, node);
    // The parameter of a step may be a constant of more axes, which the node's result then has.
    if (!step || (!step->binary && graph_.value(node.inputs[0]).type.rank() != y.rank())) return false;
    return std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return input == kNoValue ||
             (graph_.value(input).type.dtype == DType::kFloat && graph_.value(input).type.has_rank);
    });
  }

  // Into the group of its readers, or as the result of a new one.
  void Place(NodeId id) {
    const Node& node = graph_.node(id);
    const bool quantizes = IsQuantization(node);
    const bool narrows = IsNarrowing(node);
    if (!quantizes && !narrows && !IsCandidate(node)) return;
    const ValueInfo& y = graph_.value(node.outputs[0]);
    NodeId group = kNoNode;
    bool one = !y.is_output && !y.consumers.empty() && !narrows;
    for (const NodeId reader : y.consumers) {
      const auto found = group_of_.find(reader);
      one = one && found != group_of_.end() && (group == kNoNode || group == found->second);
      one = one && (!quantizes || Requantized(graph_.node(reader)));
      if (one) group = found->second;
    }
    if (one && quantizes) {  // part of its readers' steps
      group_of_[id] = group;
      return;
    }
    if (one) {
      const Node& result = graph_.node(group);
      std::vector<NodeId>& members = members_[group];
      const Type& whole = graph_.value(result.outputs[0]).type;
      if (!SameShape(y.type, whole)) {
        context_.No(graph_, id, "its readers' group has another shape: ", y.type.ToText(), " and ", whole.ToText());
      } else if (result.provider != node.provider) {
        context_.No(graph_, id, "its readers run on another provider");
      } else if (members.size() >= kMaxGroup || InputsWith(members, node) > ops::kMaxTapeInputs) {
        context_.No(graph_, id, "its readers' group is full");
      } else {
        members.push_back(id);
        group_of_[id] = group;
        return;
      }
    } else if (group != kNoNode) {
      context_.No(graph_, id, "not all of its readers are elementwise nodes of one group");
    }
    group_of_[id] = id;
    members_[id] = {id};
  }

  std::size_t OperandCount(const Node& node) const {
    const auto step = StepOf(node);
    return step && step->binary ? 2 : 1;
  }

  // Inputs of the group from outside if `node` joins: an upper bound, counted without looking for equal ones.
  std::size_t InputsWith(const std::vector<NodeId>& members, const Node& node) const {
    std::size_t count = OperandCount(node);
    for (const NodeId member : members) count += OperandCount(graph_.node(member));
    return count - members.size();
  }

  // The tape's lists, as its attributes.
  struct Tape {
    std::vector<ValueId> inputs;
    std::vector<std::string> steps;
    std::vector<std::int64_t> operands;
    std::vector<float> parameters;
    std::unordered_map<ValueId, std::int64_t> operand_of;
  };

  void AddStep(const Node& node, Tape& tape) const {
    const ops::TapeStep step = *StepOf(node);
    std::int64_t found[2] = {0, 0};
    for (std::size_t i = 0; i < (step.binary ? 2u : 1u); ++i) {
      const ValueId operand = OperandOf(node, i);
      const auto [at, fresh] = tape.operand_of.try_emplace(operand, static_cast<std::int64_t>(tape.inputs.size()));
      if (fresh) tape.inputs.push_back(operand);
      found[i] = at->second;
    }
    tape.operands.insert(tape.operands.end(), {found[0], step.binary ? found[1] : found[0]});
    tape.parameters.insert(tape.parameters.end(), {step.a, step.b});
    tape.operand_of[node.outputs[0]] = -1 - static_cast<std::int64_t>(tape.steps.size());
    tape.steps.emplace_back(step.name);
  }

  // Reads half-precision and 8-bit tensors themselves where the inputs are what Cast and DequantizeLinear make of them.
  std::vector<Attribute> ReadNarrow(std::vector<ValueId>& inputs, const std::string& provider) const {
    std::vector<float> scales(inputs.size(), 1), zeros(inputs.size(), 0);
    bool any = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (const ValueId half = WidenedFrom(inputs[i], provider); half != kNoValue) {
        inputs[i] = half;
        continue;
      }
      const auto q = DequantizedFrom(graph_, inputs[i]);
      if (!q || !q->IsPerTensor8() || graph_.node(q->node).provider != provider) continue;
      inputs[i] = q->data;
      scales[i] = static_cast<float>(q->scale_value);
      zeros[i] = static_cast<float>(q->zero_value);
      any = true;
    }
    if (!any) return {};
    return {{"input_scales", scales}, {"input_zeros", zeros}};
  }

  bool Fuse(NodeId result, std::vector<NodeId> members) {
    std::reverse(members.begin(), members.end());  // they joined against the order of computation
    const bool quantizes = IsQuantization(graph_.node(result));
    const bool narrows = IsNarrowing(graph_.node(result));
    if (quantizes || narrows) members.pop_back();
    Tape tape;
    for (const NodeId member : members) AddStep(graph_.node(member), tape);
    if (tape.inputs.size() > ops::kMaxTapeInputs) return false;
    std::vector<Attribute> attributes = ReadNarrow(tape.inputs, graph_.node(result).provider);
    attributes.insert(attributes.end(),
                      {{"steps", tape.steps}, {"operands", tape.operands}, {"parameters", tape.parameters}});
    if (narrows) {
      const DType to = graph_.value(graph_.node(result).outputs[0]).type.dtype;
      attributes.push_back({"to", static_cast<std::int64_t>(to)});
    }
    if (quantizes) {
      const QuantizedValue y = *QuantizedBy(graph_, result);
      attributes.push_back({"to", static_cast<std::int64_t>(y.dtype)});
      attributes.push_back({"output_scale", static_cast<float>(y.scale_value)});
      attributes.push_back({"output_zero", static_cast<float>(y.zero_value)});
    }
    Rewrite rewrite(graph_, registry_, result);
    const ValueId old = graph_.node(result).outputs[0];
    const ValueId y = rewrite.Add("ai.sardonyx", "FusedElementwise", tape.inputs, std::move(attributes));
    rewrite.Replace(old, y);
    return true;
  }

  Graph& graph_;
  const ops::Registry& registry_;
  const PassContext& context_;
  std::unordered_map<NodeId, NodeId> group_of_;              // the node that makes the group's result
  std::unordered_map<NodeId, std::vector<NodeId>> members_;  // from the result upwards
};

bool FuseElementwise(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return ElementwiseFuser(each, context).Run(); });
}

}  // namespace

constinit const Pass kFuseElementwise = {.name = "fuse_elementwise", .level = Level::kExtended, .run = FuseElementwise};

}  // namespace sardonyx::optimizer
