// optimizer/passes/quantization/quantize_activations.cpp - Relu and Clip between an operator and QuantizeLinear: limits
// that the 8-bit (or 16-bit) range implies anyway are removed, others act on quantized values, so that the operator can
// become an integer one.
//
// Rounding is monotone, so a limit before QuantizeLinear is the same as that limit, rounded, behind it. NaN is the
// exception, which QuantizeLinear makes the lowest integer of: operators that stay float keep their limit in front.
#include <algorithm>
#include <limits>

#include "optimizer/passes/passes.h"
#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

struct Limits {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
};

// The limits of a Relu, or of a Clip with constant bounds; nullopt for other nodes.
std::optional<Limits> LimitsOf(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.inputs.empty() || node.outputs.size() != 1) return std::nullopt;
  if (node.op_type == "Relu") return Limits{.low = 0};
  if (node.op_type != "Clip") return std::nullopt;
  Limits limits;
  for (const std::size_t i : {1u, 2u}) {
    if (i >= node.inputs.size() || node.inputs[i] == kNoValue) continue;
    const auto bound = ScalarOf(graph, node.inputs[i]);
    if (!bound) return std::nullopt;
    (i == 1 ? limits.low : limits.high) = *bound;
  }
  return limits.low <= limits.high ? std::optional(limits) : std::nullopt;
}

bool HasIntegerForm(const Node& node) {
  for (const std::string_view op : {"Add", "Conv", "Gemm", "MatMul", "Mul"})
    if (Is(node, op)) return true;
  return false;
}

// True if `value` is a constant, or is made from integers by operators that have an integer form or move elements.
bool ComesFromIntegers(const Graph& graph, const ops::Registry& registry, ValueId value, int depth = 0) {
  constexpr int kDeepest = 8;
  if (value == kNoValue || graph.value(value).constant() != nullptr) return true;
  const NodeId producer = graph.value(value).producer;
  if (producer == kNoNode || depth > kDeepest) return false;
  const Node& node = graph.node(producer);
  if (IsDequantize(node)) return true;
  const auto from = [&](ValueId input) { return ComesFromIntegers(graph, registry, input, depth + 1); };
  const bool moves = MovesElements(registry, node) || Is(node, "MaxPool") || Is(node, "Pad") || Is(node, "Resize");
  if (moves) return from(node.inputs[0]);
  return (HasIntegerForm(node) || Is(node, "Concat")) && std::all_of(node.inputs.begin(), node.inputs.end(), from);
}

bool FeedsQuantization(const Graph& graph, const Node& node) {
  const auto& readers = graph.value(node.outputs[0]).consumers;
  return std::any_of(readers.begin(), readers.end(), [&](NodeId reader) { return IsQuantize(graph.node(reader)); });
}

bool QuantizeBefore(Graph& graph, const PassContext& context, NodeId id) {
  const Node& node = graph.node(id);
  if (node.erased || !node.domain.empty() || (node.op_type != "Relu" && node.op_type != "Clip")) return false;
  if (!FeedsQuantization(graph, node)) return false;
  const auto no = [&](const auto&... parts) { return context.No(graph, id, parts...); };
  const auto limits = LimitsOf(graph, node);
  if (!limits) return no("its bounds are not constant");
  const auto y = SoleQuantization(graph, node.outputs[0]);
  if (!y) return no("it is not read by one QuantizeLinear alone, or that has no constant parameters");
  if (!y->IsPerTensor() || graph.node(y->node).provider != node.provider)
    return no("the QuantizeLinear behind it has several scales, or runs on another provider");
  const ValueId x = node.inputs[0];
  const NodeId producer = graph.value(x).producer;
  if (graph.value(x).type.dtype != DType::kFloat || producer == kNoNode)
    return no("its input is not made by a node, or is not float");
  if (limits->low <= y->LowestValue() && limits->high >= y->HighestValue()) {
    Rewrite rewrite(graph, context.registry, id);
    const ValueId limited = node.outputs[0];
    graph.SetInput(y->node, 0, x);
    rewrite.DropUnused(limited);
    return true;
  }
  if (!y->Is8Bit())
    return no("the QuantizeLinear behind it makes ", Name(y->dtype), ", which no operator computes with");
  if (SoleReader(graph, x) != id) return no("its input '", graph.value(x).name, "' is also read by others");
  if (IsDequantize(graph.node(producer)))
    return context.FarFrom(graph, id, "it is a function of 8-bit integers itself");
  if (!HasIntegerForm(graph.node(producer))) return no(Describe(graph, graph.node(producer)), " has no integer form");
  if (!ComesFromIntegers(graph, context.registry, x))
    return no(Describe(graph, graph.node(producer)), " computes with floats that no integers stand for");
  Rewrite rewrite(graph, context.registry, id);
  const ValueId zero = ZeroOrConstant(graph, *y);
  const ValueId integers = rewrite.Add("QuantizeLinear", {x, y->scale, zero});
  graph.SetInput(id, 0, rewrite.Add("DequantizeLinear", {integers, y->scale, zero}));
  return true;
}

bool QuantizeActivations(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) {
    bool changed = false;
    for (const NodeId id : OwnNodes(each)) changed |= QuantizeBefore(each, context, id);
    return changed;
  });
}

}  // namespace

constinit const Pass kQuantizeActivations = {
    .name = "quantize_activations", .level = Level::kExtended, .run = QuantizeActivations};

}  // namespace sardonyx::optimizer
