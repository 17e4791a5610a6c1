// optimizer/fusion/attention_sinks.cpp - finds attention sinks.
#include "optimizer/fusion/attention_sinks.h"

#include <algorithm>
#include <vector>

#include "optimizer/fusion/attention_scores.h"
#include "optimizer/rules/rewrite.h"

namespace sardonyx::optimizer {
namespace {

bool IsOne(const Dim& d) { return d.known() && d.number() == 1; }

bool IsLastAxis(const Type& type, std::int64_t axis) {
  return type.has_rank && (axis == -1 || axis + 1 == static_cast<std::int64_t>(type.rank()));
}
bool AreLastAxis(const Graph& graph, const Type& type, const Node& node, std::size_t input) {
  if (node.inputs.size() <= input || node.inputs[input] == kNoValue) return false;
  const auto axes = IntsOf(graph, node.inputs[input]);
  return axes && axes->size() == 1 && IsLastAxis(type, axes->front());
}

// Before casts between float types, if nothing else reads what they make.
ValueId BeforeCasts(const Graph& graph, ValueId value) {
  for (const Node* cast = ProducerOf(graph, value, "Cast"); cast != nullptr && IsFloatCast(graph, *cast);
       cast = ProducerOf(graph, value, "Cast")) {
    if (SoleReader(graph, value) == kNoNode) break;
    value = cast->inputs[0];
  }
  return value;
}

// x of x - ReduceMax(x) over the last axis, if nothing else reads x.
ValueId BeforeMaximum(const Graph& graph, ValueId value) {
  const Node* difference = ProducerOf(graph, value, "Sub");
  if (difference == nullptr || SoleReader(graph, value) == kNoNode) return kNoValue;
  const ValueId x = difference->inputs[0];
  const Node* largest = ProducerOf(graph, difference->inputs[1], "ReduceMax");
  if (largest == nullptr || largest->inputs[0] != x || SoleReader(graph, difference->inputs[1]) == kNoNode)
    return kNoValue;
  const ValueInfo& info = graph.value(x);
  const bool alone = info.consumers.size() == 2 && !info.is_output;
  const bool rows = IntAttribute(*largest, "keepdims", 1) != 0 && AreLastAxis(graph, info.type, *largest, 1);
  return alone && rows ? x : kNoValue;
}

// [batch, heads, rows, 1] of fixed sizes, for which the Expand was computed already.
bool RepeatsHeads(const Tensor& column) {
  const Shape& shape = column.shape();
  if (shape.rank() != 4 || shape[3] != 1 || column.count() == 0) return false;
  bool repeats = false;
  VisitDType<float, double, Half, BFloat16>(column.dtype(), [&]<typename T>() {
    const auto elements = column.span<T>();
    const auto rows = shape[2], of_batch = shape[1] * rows;
    repeats = true;
    for (std::int64_t i = 0; i < column.count(); ++i)
      repeats &= static_cast<float>(elements[static_cast<std::size_t>(i)]) ==
                 static_cast<float>(elements[static_cast<std::size_t>(i % of_batch / rows * rows)]);
  });
  return repeats;
}

// The number of elements, if there is one for each head of scores of this rank: all axes but those of heads are 1.
std::optional<Dim> HeadsOf(const Type& each, std::size_t rank) {
  const std::size_t axes = rank - 3;  // of heads: before rows and keys
  if (!each.has_rank || each.rank() > rank || each.rank() < axes + 2) return std::nullopt;
  const std::size_t end = each.rank() - 2;
  Dim heads(1);
  for (std::size_t i = 0; i < each.rank(); ++i) {
    const bool of_heads = i < end && i + axes >= end;
    if (of_heads ? !each.dims[i].known() : !IsOne(each.dims[i])) return std::nullopt;
    if (of_heads) heads = heads * each.dims[i];
  }
  return heads;
}

}  // namespace

ValueId ScoresOf(const Graph& graph, NodeId softmax) {
  const ValueId direct = graph.node(softmax).inputs[0];
  const ValueId x = BeforeMaximum(graph, BeforeCasts(graph, direct));
  if (x != kNoValue) return x;
  return SoleReader(graph, direct) == kNoNode ? kNoValue : direct;
}

std::optional<AttentionSinks> FindSinks(const Graph& graph, ValueId joined) {
  const Node* concat = ProducerOf(graph, joined, "Concat");
  if (concat == nullptr) {
    joined = BeforeCasts(graph, joined);
    concat = ProducerOf(graph, joined, "Concat");
  }
  const Type& type = graph.value(joined).type;
  // Groups of heads may have an axis of their own.
  if (concat == nullptr || concat->inputs.size() != 2 || !type.has_rank || type.rank() < 4 || type.rank() > 5)
    return std::nullopt;
  if (!IsLastAxis(type, IntAttribute(*concat, "axis", 0)) || SoleReader(graph, concat->inputs[0]) == kNoNode)
    return std::nullopt;
  const Type& column = graph.value(concat->inputs[1]).type;
  if (!column.has_rank || column.rank() != type.rank() || !IsOne(column.dims.back())) return std::nullopt;
  for (ValueId sinks = concat->inputs[1];;) {  // repeated for all sequences and rows
    const Type& each = graph.value(sinks).type;
    if (const auto heads = HeadsOf(each, type.rank())) return AttentionSinks{concat->inputs[0], sinks, *heads};
    if (const Tensor* constant = graph.value(sinks).constant(); constant != nullptr && RepeatsHeads(*constant))
      return AttentionSinks{concat->inputs[0], sinks, each.dims[1], true};
    const NodeId id = graph.value(sinks).producer;
    if (id == kNoNode || !(Is(graph.node(id), "Expand") || IsFloatCast(graph, graph.node(id)))) return std::nullopt;
    sinks = graph.node(id).inputs[0];
  }
}

bool CutsLast(const Graph& graph, const Node& node) {
  if (!Is(node, "Slice") || node.inputs.size() < 4) return false;
  const Type &from = graph.value(node.inputs[0]).type, &to = graph.value(node.outputs[0]).type;
  if (!AreLastAxis(graph, from, node, 3) || !to.has_rank) return false;
  const auto starts = IntsOf(graph, node.inputs[1]), ends = IntsOf(graph, node.inputs[2]);
  if (!starts || *starts != std::vector<std::int64_t>{0}) return false;
  if (node.inputs.size() > 4 && node.inputs[4] != kNoValue) {
    const auto steps = IntsOf(graph, node.inputs[4]);
    if (!steps || *steps != std::vector<std::int64_t>{1}) return false;
  }
  return (ends && *ends == std::vector<std::int64_t>{-1}) || SameDim(to.dims.back() + Dim(1), from.dims.back());
}

}  // namespace sardonyx::optimizer
