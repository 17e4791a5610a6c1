// optimizer/passes/quantization/eliminate_quantized_clip.cpp - removes a Clip of 8-bit integers whose limits they keep
// already, and puts one behind a table into the table.
//
// Quantizers that use a part of the 8 bits (0 to 127, or the 16 steps of 4 bits) write a Clip behind every
// QuantizeLinear. Between operators that only move the integers one is enough.
#include <algorithm>

#include "optimizer/passes/passes.h"
#include "optimizer/quantization/quantization.h"

namespace sardonyx::optimizer {
namespace {

struct Limits {
  double low, high;
};

class ClipRemover {
 public:
  ClipRemover(Graph& graph, const PassContext& context)
      : graph_(graph), registry_(context.registry), context_(context) {}

  bool Run() {
    bool changed = false;
    for (const NodeId id : OwnNodes(graph_)) {
      const Node& node = graph_.node(id);
      if (node.erased || !Is(node, "Clip") || !IsByte(node.outputs[0])) continue;
      changed |= JoinTable(id) || Remove(id);
    }
    return changed;
  }

 private:
  bool IsByte(ValueId value) const {
    const Type& type = graph_.value(value).type;
    return type.is_tensor() && (type.dtype == DType::kInt8 || type.dtype == DType::kUInt8);
  }

  std::optional<double> ByteOf(ValueId value) const {
    const Tensor* tensor = graph_.value(value).constant();
    std::optional<double> byte;
    if (tensor == nullptr || tensor->count() != 1) return byte;
    VisitDType<std::int8_t, std::uint8_t>(tensor->dtype(), [&]<typename T>() { byte = *tensor->data<T>(); });
    return byte;
  }

  // The limits of a Clip; nullopt if one is not constant.
  std::optional<Limits> LimitsOf(const Node& clip) const {
    const bool is_signed = graph_.value(clip.outputs[0]).type.dtype == DType::kInt8;
    Limits limits{is_signed ? -128.0 : 0.0, is_signed ? 127.0 : 255.0};
    for (std::size_t i = 1; i < clip.inputs.size() && i < 3; ++i) {
      if (clip.inputs[i] == kNoValue) continue;
      const auto bound = ByteOf(clip.inputs[i]);
      if (!bound) return std::nullopt;
      if (i == 1) limits.low = std::max(limits.low, *bound);
      if (i == 2) limits.high = std::min(limits.high, *bound);
    }
    return limits;
  }

  // What the elements of `value` lie between, as far as operators that move them show it.
  Limits RangeOf(ValueId value, int depth = 0) const {
    constexpr int kDeepest = 16;
    const Limits any{-128, 255};
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode || depth > kDeepest) return any;
    const Node& node = graph_.node(producer);
    if (Is(node, "Clip")) {
      const auto own = LimitsOf(node);
      return own && own->low <= own->high ? *own : any;
    }
    if (Is(node, "Lookup8", "ai.sardonyx")) return RangeOfTable(graph_.value(node.inputs[1]).constant());
    const bool joins = Is(node, "Concat");
    if (!joins && !MovesElements(registry_, node) && !(Is(node, "MaxPool") && node.outputs[0] == value)) return any;
    Limits range = RangeOf(node.inputs[0], depth + 1);
    for (std::size_t i = 1; joins && i < node.inputs.size(); ++i) {
      const Limits more = RangeOf(node.inputs[i], depth + 1);
      range = {std::min(range.low, more.low), std::max(range.high, more.high)};
    }
    return range;
  }
  static Limits RangeOfTable(const Tensor* table) {
    if (table == nullptr || table->count() == 0) return {-128, 255};
    Limits range{255, -128};
    VisitDType<std::int8_t, std::uint8_t>(table->dtype(), [&]<typename T>() {
      for (const T element : table->span<T>())
        range = {std::min<double>(range.low, element), std::max<double>(range.high, element)};
    });
    return range;
  }

  bool Remove(NodeId id) {
    const auto limits = LimitsOf(graph_.node(id));
    if (!limits) return context_.FarFrom(graph_, id, "its limits are not constant");
    const Limits range = RangeOf(graph_.node(id).inputs[0]);
    if (range.low < limits->low || range.high > limits->high)
      return context_.FarFrom(graph_, id, "nothing before it keeps its integers between ", limits->low, " and ",
                              limits->high);
    return TakeOut(graph_, id);
  }

  // Clip behind a table that only it reads.
  bool JoinTable(NodeId id) {
    const ValueId x = graph_.node(id).inputs[0];
    const NodeId producer = graph_.value(x).producer;
    if (producer == kNoNode || !Is(graph_.node(producer), "Lookup8", "ai.sardonyx") || SoleReader(graph_, x) != id)
      return false;
    const Node& lookup = graph_.node(producer);
    const Tensor* table = graph_.value(lookup.inputs[1]).constant();
    const auto limits = LimitsOf(graph_.node(id));
    if (table == nullptr || !limits || limits->low > limits->high || lookup.provider != graph_.node(id).provider)
      return false;
    Tensor clipped = table->Clone();
    VisitDType<std::int8_t, std::uint8_t>(clipped.dtype(), [&]<typename T>() {
      for (std::int64_t i = 0; i < clipped.count(); ++i)
        clipped.data<T>()[i] = static_cast<T>(std::clamp<double>(clipped.data<T>()[i], limits->low, limits->high));
    });
    const ValueId source = lookup.inputs[0];
    Rewrite rewrite(graph_, registry_, id);
    const ValueId made =
        rewrite.Add("ai.sardonyx", "Lookup8", {source, graph_.AddConstant("table", std::move(clipped))});
    rewrite.Replace(graph_.node(id).outputs[0], made);
    return true;
  }

  Graph& graph_;
  const ops::Registry& registry_;
  const PassContext& context_;
};

bool EliminateQuantizedClip(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return ClipRemover(each, context).Run(); });
}

}  // namespace

constinit const Pass kEliminateQuantizedClip = {
    .name = "eliminate_quantized_clip", .level = Level::kExtended, .run = EliminateQuantizedClip};

}  // namespace sardonyx::optimizer
