// optimizer/passes/fuse/fuse_attention.cpp - MatMul, scale, mask, Softmax and MatMul become one Attention node.
//
// Exporters wrap these five in Reshape, Transpose, Unsqueeze, Cast and guards against NaN in many ways. The pass starts
// at a Softmax, walks up through nodes that only scale, mask or view the scores, and reads queries, keys and values
// through their views (optimizer/shapes/axis_view.h): whatever the spelling, they are axes batch, head, row and element
// of a source. If that source has the axes in the order batch, row, head, element, as a projection writes them,
// Attention reads it as it is; otherwise it gets tensors of rank 4. Expanded key heads become grouped heads, and a
// Concat with a cache becomes Attention's past and present. With a sink for each head it is ai.sardonyx SinkAttention;
// with a cache of other axes or of 16-bit floats it is ai.sardonyx CachedAttention.
//
// An Attention node that an exporter wrote itself takes over what stands before it in the same way.
//
// Rows of which every key is masked keep the result that they have in the graph (optimizer/fusion/attention_mask.h).
#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <set>
#include <utility>
#include <vector>

#include "ops/own_domain.h"
#include "optimizer/fusion/attention_heads.h"
#include "optimizer/fusion/attention_mask.h"
#include "optimizer/fusion/attention_scores.h"
#include "optimizer/fusion/attention_sinks.h"
#include "optimizer/fusion/half_caches.h"
#include "optimizer/passes/passes.h"
#include "optimizer/rules/infer_again.h"
#include "optimizer/shapes/axis_view.h"
#include "optimizer/shapes/run_time_shape.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kMaskInput = 3, kPastInput = 4;  // of Attention; behind them the other cache, and lengths

class AttentionFuser {
 public:
  AttentionFuser(Graph& graph, const PassContext& context) : graph_(graph), context_(context) {}

  bool Try(NodeId id) {
    const Node& softmax = graph_.node(id);
    if (Is(softmax, "Attention")) return TakeInputs(id);
    if (!Is(softmax, "Softmax") || !HasOperator(context_.registry, "", "Attention")) return false;
    const Type& type = TypeOf(softmax.outputs[0]);
    const std::int64_t axis = IntAttribute(softmax, "axis", -1);
    if (!type.has_rank || type.rank() < 3)
      return context_.No(graph_, id, "expected scores of rank 3 or more, found ", type.ToText());
    if (axis != -1 && axis + 1 != static_cast<std::int64_t>(type.rank()))
      return context_.No(graph_, id, "expected the last axis, found ", axis);
    const ValueId joined = ScoresOf(graph_, id);
    if (joined == kNoValue)
      return context_.No(graph_, id, "no product of queries and keys before it: '",
                         graph_.value(softmax.inputs[0]).name, "' is read by several nodes or an output");
    sinks_ = FindSinks(graph_, joined);
    const auto probabilities = FindProbabilities(graph_, context_, id, sinks_.has_value());
    if (!probabilities) return false;
    const auto scores = FindScores(graph_, context_, id, sinks_ ? sinks_->scores : joined, *probabilities);
    return scores && Fuse(id, *scores, *probabilities);
  }

 private:
  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }
  const Node* NodeOf(ValueId value) const {
    const NodeId id = graph_.value(value).producer;
    return id == kNoNode ? nullptr : &graph_.node(id);
  }

  // Whether one of `read`, which the new node reads, is computed from the caches that it would make: a mask that takes
  // the number of keys from them, say. `own` are the nodes that it replaces.
  bool ReadCaches(std::vector<ValueId> read, const Heads& k, const Heads& v, std::initializer_list<NodeId> own) const {
    for (const Heads* heads : {&k, &v}) read.push_back(heads->view.source());
    read.insert(read.end(), {k.past, v.past});
    std::vector<ValueId> open = {k.present, v.present};
    std::set<NodeId> seen(own);
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      if (std::find(read.begin(), read.end(), value) != read.end()) return true;
      for (const NodeId id : graph_.value(value).consumers) {
        if (!seen.insert(id).second) continue;
        for (const ValueId output : graph_.node(id).outputs)
          if (output != kNoValue) open.push_back(output);
      }
    }
    return false;
  }

  // Attention has caches of its own type with the usual axes; CachedAttention has others, but neither doubles nor
  // sinks.
  bool CanHaveCaches(const Heads& k, const Heads& v, DType dtype) const {
    if (!SameDim(Size(k, kRow), Size(v, kRow)) || k.form != v.form) return false;
    if (!IsOther(k.form, dtype)) return true;
    return !sinks_ && dtype == DType::kFloat && HasOperator(context_.registry, ops::kOwnDomain, "CachedAttention");
  }
  // Of the attributes of Attention, those that CachedAttention has, too; the others have no effect on one with a cache.
  static bool IsShared(const std::string& attribute) {
    return attribute == "scale" || attribute == "softcap" || attribute == "q_num_heads" || attribute == "kv_num_heads";
  }
  static bool IsOther(const CacheForm& form, DType dtype) { return !form.IsUsual() || form.dtype != dtype; }

  // ---- The node

  bool Fuse(NodeId softmax, const Scores& scores, const Probabilities& probabilities) {
    const ValueId queries = graph_.node(scores.product).inputs[0], scaled = ScaledQueries(scores);
    if (Fuse(softmax, scores, probabilities, scaled)) return true;
    if (scaled != queries) Rewrite(graph_, context_.registry, scores.product).DropUnused(scaled);
    return false;
  }

  // Queries times what multiplies the scores of a head.
  ValueId ScaledQueries(const Scores& scores) {
    Rewrite rewrite(graph_, context_.registry, scores.product);
    ValueId queries = graph_.node(scores.product).inputs[0];
    for (const ScoreStep& step : scores.steps)
      if (step.kind == ScoreStep::Kind::kScaleBy)
        queries = rewrite.Add(step.divides ? "Div" : "Mul", {queries, step.operand});
    return queries;
  }

  bool Fuse(NodeId softmax, Scores scores, const Probabilities& probabilities, ValueId queries) {
    const NodeId last = probabilities.product;
    const Node& product = graph_.node(scores.product);
    const ValueId old = graph_.node(last).outputs[0];
    const ValueId values = graph_.node(last).inputs[probabilities.transposed ? 0 : 1];
    AttentionOperands operands = TraceOperands(graph_, queries, product.inputs[1], values, probabilities.transposed);
    if (!operands.FitTogether())
      return context_.No(graph_, softmax, "queries, keys and values are not batches of heads that match");
    auto &q = operands.q, &k = operands.k, &v = operands.v;
    if (sinks_ && (TypeOf(old).dtype == DType::kDouble || !SameDim(sinks_->heads, Size(*q, kHead))))
      return context_.No(graph_, softmax, "its sinks are not one for each head, or are doubles");
    for (const ValueId source : {q->view.source(), k->view.source(), v->view.source()})
      if (TypeOf(source).dtype != TypeOf(old).dtype)
        return context_.No(graph_, softmax, "queries, keys and values have other element types than the result");
    if (product.provider != graph_.node(last).provider || !TypeOf(probabilities.value).has_rank)
      return context_.No(graph_, softmax, "its products run on different providers");
    if (scores.equals_summand) SetRows(old, Size(*q, kRow), probabilities.transposed);
    const std::vector<Dim> four = {Size(*q, kBatch), Size(*q, kHead), Size(*q, kRow), Size(*k, kRow)};
    std::vector<MaskAlignment> alignments;
    for (const ScoreStep& step : scores.steps) {
      alignments.emplace_back();
      if (!MasksScores(step)) continue;
      const auto alignment = AlignMask(graph_, step, scores, four);
      if (!alignment)
        return context_.No(graph_, softmax, "'", graph_.value(step.operand).name,
                           "' is not a mask for [batch, head, row, key]");
      alignments.back() = *alignment;
    }
    if (!CanBuildMask(graph_, scores)) return context_.No(graph_, softmax, "its mask cannot be written as a sum");
    const auto k_new = BehindCache(graph_, *k), v_new = BehindCache(graph_, *v);
    std::vector<ValueId> read = {q->view.source(), probabilities.condition, sinks_ ? sinks_->sinks : kNoValue};
    for (const ScoreStep& step : scores.steps) read.push_back(step.operand);
    const bool cached = k_new && v_new && CanHaveCaches(*k_new, *v_new, TypeOf(old).dtype) &&
                        !ReadCaches(std::move(read), *k_new, *v_new, {scores.product, last});
    if (cached) {
      k = k_new;
      v = v_new;
    }
    const bool flat = PlanAsProjections(&*q, &*k, &*v);
    if (!flat && !(PlanDeep(&*q) && PlanDeep(&*k) && PlanDeep(&*v)))
      return context_.No(graph_, softmax, "a shape of queries, keys or values cannot be written as a constant");
    const bool own_keys =
        std::any_of(scores.steps.begin(), scores.steps.end(), [](const ScoreStep& step) { return step.own_keys; });
    const auto counts = own_keys ? CountKeys(*k) : std::optional(std::vector<RunTimeShape>());
    if (!counts) return context_.No(graph_, softmax, "the number of keys, which its mask must have, is not known");
    Rewrite rewrite(graph_, context_.registry, last);
    if (own_keys) SetKeys(rewrite, *counts, &scores);
    const bool zero_rows = sinks_ || probabilities.guarded || probabilities.condition != kNoValue;
    const BuiltMask built = BuildMask(rewrite, scores, alignments, zero_rows);
    std::vector<Attribute> attributes;
    if (!AddScale(operands.scale * built.scale, scores.cap, *q, TypeOf(old).dtype, &attributes)) {
      if (built.mask != kNoValue) rewrite.DropUnused(built.mask);
      return context_.No(graph_, softmax, "its scale or cap needs a double");
    }
    return Build(rewrite, softmax, *q, *k, *v, flat, built.mask, std::move(attributes), old, probabilities.transposed);
  }

  // How many keys there are, as the sum of these sizes; nothing if they cannot be computed without the new node.
  std::optional<std::vector<RunTimeShape>> CountKeys(const Heads& k) const {
    std::vector<RunTimeShape> counts;
    if (k.past != kNoValue) {
      auto rows = CountRows(TypeOf(k.past).dims[k.form.RowAxis()], k.past);
      if (!rows) return std::nullopt;
      counts.push_back(std::move(*rows));
    }
    auto rows = CountRows(Size(k, kRow), k.view.source());
    if (!rows) return std::nullopt;
    counts.push_back(std::move(*rows));
    return counts;
  }
  // From an input, if one has as many, so that all layers share it.
  std::optional<RunTimeShape> CountRows(const Dim& rows, ValueId source) const {
    for (const ValueId input : graph_.inputs) {
      if (!TypeOf(input).is_tensor() || graph_.value(input).initializer != nullptr) continue;
      if (auto shape = FindRunTimeShape(graph_, input, {rows})) return shape;
    }
    return FindRunTimeShape(graph_, source, {rows});
  }
  static void SetKeys(Rewrite& rewrite, const std::vector<RunTimeShape>& counts, Scores* scores) {
    ValueId keys = kNoValue;
    for (const RunTimeShape& count : counts) {
      const ValueId more = count.Build(rewrite);
      keys = keys == kNoValue ? more : rewrite.Add("Add", {keys, more});
    }
    for (ScoreStep& step : scores->steps)
      if (step.own_keys) step.keys = keys;
  }

  // ---- An Attention node of rank 4 that the author wrote: torch.onnx from opset 23 on

  bool TakeInputs(NodeId id) {
    const Node node = graph_.node(id);
    const auto has = [&](std::size_t i) { return i < node.inputs.size() && node.inputs[i] != kNoValue; };
    if (has(kPastInput) || has(kPastInput + 1) || has(kPastInput + 2) || node.outputs.size() > 1) return false;
    std::array<std::optional<Heads>, 3> all;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!TypeOf(node.inputs[i]).has_rank || TypeOf(node.inputs[i]).rank() != 4) return false;
      all[i] = TraceHeads(graph_, node.inputs[i], nullptr, false);
    }
    auto& [q, k, v] = all;
    if (!q || !k || !v || !SameDim(q->repeats, Dim(1)) || !SameDim(k->repeats, v->repeats)) return false;
    bool gains = !SameDim(k->repeats, Dim(1));
    k->repeats = v->repeats = FloorDiv(Size(*q, kHead), Size(*k, kHead));  // the node itself may group heads, too
    if (!FitTogether(*q, *k, *v)) return false;
    const auto k_new = BehindCache(graph_, *k), v_new = BehindCache(graph_, *v);
    // With a cache in front, the first query of a causal node stands behind it.
    const bool plain = IntAttribute(node, "is_causal", 0) == 0 && IntAttribute(node, "left_window_size", -1) == -1 &&
                       IntAttribute(node, "right_window_size", -1) == -1;
    if (plain && k_new && v_new && CanHaveCaches(*k_new, *v_new, TypeOf(node.outputs[0]).dtype) &&
        !ReadCaches({q->view.source(), has(kMaskInput) ? node.inputs[kMaskInput] : kNoValue}, *k_new, *v_new, {id})) {
      k = k_new;
      v = v_new;
      gains = true;
    }
    const bool flat = PlanAsProjections(&*q, &*k, &*v);
    if (!flat && !(PlanDeep(&*q) && PlanDeep(&*k) && PlanDeep(&*v))) return false;
    if (!gains && !flat) return false;
    std::vector<Attribute> attributes = node.attributes;
    std::erase_if(attributes, [](const Attribute& a) { return a.name == "q_num_heads" || a.name == "kv_num_heads"; });
    Rewrite rewrite(graph_, context_.registry, id);
    const ValueId mask = has(kMaskInput) ? node.inputs[kMaskInput] : kNoValue;
    return Build(rewrite, id, *q, *k, *v, flat, mask, std::move(attributes), node.outputs[0], false);
  }

  // The result and the views behind it get the size that the queries say; inference took another one.
  void SetRows(ValueId old, const Dim& rows, bool transposed) {
    std::vector<Dim>& dims = graph_.value(old).type.dims;
    dims[dims.size() - (transposed ? 1 : 2)] = rows;
    for (const ValueId end : ViewsBehind(old)) {
      if (end == old || graph_.value(end).is_output) continue;
      graph_.value(end).type = Type();
      InferAgain(graph_, graph_.value(end).producer, context_.registry, context_.logger);
    }
  }

  // `old` and the views behind it that are all that reads it.
  std::vector<ValueId> ViewsBehind(ValueId old) const {
    std::vector<ValueId> ends = {old};
    while (SoleReader(graph_, ends.back()) != kNoNode) {
      const Node& reader = graph_.node(SoleReader(graph_, ends.back()));
      if (!IsViewNode(reader) || reader.inputs[0] != ends.back()) break;
      ends.push_back(reader.outputs[0]);
    }
    return ends;
  }

  // The last of these that can be made of the result, whose axes are those of `old`, and how: by a plan, or, where its
  // elements are in the result's order, by a shape of numbers and sizes of `sized`.
  struct End {
    ValueId value;
    AxisView view;
    std::optional<AxisView::Plan> plan;
    std::optional<RunTimeShape> shape;
  };
  std::optional<End> FindEnd(ValueId old, const AxisView& result, ValueId sized) const {
    const std::vector<ValueId> ends = ViewsBehind(old);
    for (const bool planned : {true, false}) {
      for (std::size_t i = ends.size(); i-- > 0;) {
        auto view = AxisView::Trace(graph_, ends[i], {.stop = old});
        if (!view || view->source() != old || !view->ReadThrough(result)) continue;
        auto plan = view->MakePlan();
        std::optional<RunTimeShape> shape;
        if (!plan && !planned && view->MovesNothing()) shape = FindRunTimeShape(graph_, sized, TypeOf(ends[i]).dims);
        if (plan || shape) return End{ends[i], std::move(*view), std::move(plan), std::move(shape)};
      }
    }
    return std::nullopt;
  }

  static ValueId BuildEnd(Rewrite& rewrite, const End& end, ValueId y) {
    if (end.plan) return end.view.Build(rewrite, *end.plan);
    return rewrite.Add("Reshape", {y, end.shape->Build(rewrite)}, {{"allowzero", std::int64_t{1}}});
  }

  // Attributes are floats, which doubles need to be exact; without a scale it is 1 / sqrt(head size).
  bool AddScale(double scale, double cap, const Heads& q, DType dtype, std::vector<Attribute>* attributes) const {
    const auto near = [](double number, double other) { return std::abs(other - number) <= 1e-15 * std::abs(number); };
    const auto rounded = static_cast<float>(scale), rounded_cap = static_cast<float>(cap);
    if (dtype == DType::kDouble && !near(cap, rounded_cap)) return false;
    if (cap != 0) attributes->push_back({"softcap", rounded_cap});
    if (dtype != DType::kDouble || near(scale, rounded)) {
      attributes->push_back({"scale", rounded});
      return true;
    }
    const Dim size = Size(q, kSize);
    return size.known() && near(scale, 1 / std::sqrt(static_cast<double>(size.number())));
  }

  bool Build(Rewrite& rewrite, NodeId softmax, const Heads& q, const Heads& k, const Heads& v, bool flat, ValueId mask,
             std::vector<Attribute> attributes, ValueId old, bool transposed) {
    if (flat) {
      attributes.push_back({"q_num_heads", Size(q, kHead).number()});
      attributes.push_back({"kv_num_heads", Size(k, kHead).number()});
    }
    std::vector<ValueId> inputs = {q.view.Build(rewrite, q.plan), k.view.Build(rewrite, k.plan),
                                   v.view.Build(rewrite, v.plan), mask,
                                   BuildPast(rewrite, k),         BuildPast(rewrite, v)};
    if (sinks_) inputs.push_back(BuildSinks(rewrite, TypeOf(old).dtype));
    const bool other = k.past != kNoValue && IsOther(k.form, TypeOf(old).dtype);
    if (other) {
      std::erase_if(attributes, [](const Attribute& a) { return !IsShared(a.name); });
      attributes.push_back({"cache_axes", std::vector<std::int64_t>(k.form.axes.begin(), k.form.axes.end())});
    }
    const ValueId y = rewrite.Add(sinks_ || other ? ops::kOwnDomain : "",
                                  sinks_  ? "SinkAttention"
                                  : other ? "CachedAttention"
                                          : "Attention",
                                  std::move(inputs), std::move(attributes));
    auto result = AxisView::Of(graph_, y);
    if (result && flat) {
      result->Reshape({Size(q, kBatch), Size(q, kRow), Size(q, kHead), Size(v, kSize)});
      result->Regroup({{0}, {2}, {1}, {3}});
    }
    if (result && transposed) result->Regroup({{0}, {1}, {3}, {2}});
    if (result && TypeOf(old).rank() == 3) result->Regroup({{0, 1}, {2}, {3}});
    if (result && TypeOf(old).rank() > 4 && !result->Reshape(TypeOf(old).dims)) result = std::nullopt;
    const auto end = result ? FindEnd(old, *result, q.view.source()) : std::nullopt;
    if (!end) {
      rewrite.DropUnused(y);
      return context_.No(graph_, softmax, "the result's shape cannot be written as a constant");
    }
    context_.Yes(graph_, softmax, "became Attention", k.past != kNoValue ? " with caches" : "");
    AddCaches(rewrite, graph_.value(y).producer, k, v, other);
    rewrite.Replace(end->value, BuildEnd(rewrite, *end, y));
    for (const Heads* heads : {&k, &v})
      if (heads->present != kNoValue) rewrite.DropUnused(heads->present);
    return true;
  }

  // [heads]
  ValueId BuildSinks(Rewrite& rewrite, DType dtype) const {
    ValueId sinks = sinks_->sinks;
    if (sinks_->repeated)
      sinks = rewrite.Add("Slice", {sinks, rewrite.Ints({0, 0}), rewrite.Ints({1, 1}), rewrite.Ints({0, 2})});
    const ValueId list = rewrite.Add("Reshape", {sinks, rewrite.Ints({-1})});
    if (TypeOf(list).dtype == dtype) return list;
    return rewrite.Add("Cast", {list}, {{"to", static_cast<std::int64_t>(dtype)}});
  }

  // A cache in which heads and sizes are one axis has one for each in the node.
  ValueId BuildPast(Rewrite& rewrite, const Heads& heads) const {
    if (heads.past == kNoValue || !heads.form.joined) return heads.past;
    return rewrite.Add("Reshape",
                       {heads.past, rewrite.Ints({0, 0, Size(heads, kHead).number(), Size(heads, kSize).number()})});
  }

  // The node takes over the outputs of the two Concats. CachedAttention has both, be they read or not.
  void AddCaches(Rewrite& rewrite, NodeId id, const Heads& k, const Heads& v, bool both) {
    if (k.past == kNoValue) return;
    for (const auto& [heads, index] : {std::pair{&k, 1u}, std::pair{&v, 2u}}) {
      const ValueId present = heads->present;
      const NodeId concat = graph_.value(present).producer;
      if (concat == kNoNode) continue;
      if (!both && graph_.UseCount(present) <= 1 && !graph_.value(present).is_output) continue;
      if (!heads->form.joined) {
        graph_.EraseNode(concat);
        graph_.MoveOutput(id, index, present);
        continue;
      }
      Type type = TypeOf(present);
      type.dims.back() = Size(*heads, kHead);
      type.dims.push_back(Size(*heads, kSize));
      const ValueId four = graph_.AddValue("", std::move(type));
      graph_.MoveOutput(id, index, four);
      const std::int64_t width = Size(*heads, kHead).number() * Size(*heads, kSize).number();
      rewrite.Replace(present, rewrite.Add("Reshape", {four, rewrite.Ints({0, 0, width})}));
    }
  }

  Graph& graph_;
  const PassContext& context_;
  std::optional<AttentionSinks> sinks_;
};

bool FuseAttention(Graph& graph, PassContext& context) {
  const bool fused = ForEachNode(graph, [&](Graph& each, NodeId id) { return AttentionFuser(each, context).Try(id); });
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return TakeHalfCaches(each, context, id); }) || fused;
}

}  // namespace

constinit const Pass kFuseAttention = {.name = "fuse_attention", .level = Level::kExtended, .run = FuseAttention};

}  // namespace sardonyx::optimizer
