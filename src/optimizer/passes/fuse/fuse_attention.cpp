// optimizer/passes/fuse/fuse_attention.cpp - MatMul, scale, mask, Softmax and MatMul become one Attention node.
//
// Exporters wrap these five in Reshape, Transpose, Unsqueeze, Cast and guards against NaN in many ways. The pass starts
// at a Softmax, walks up through nodes that only scale, mask or view the scores, and reads queries, keys and values
// through their views (optimizer/shapes/axis_view.h): whatever the spelling, they are axes batch, head, row and element
// of a source. If that source has the axes in the order batch, row, head, element, as a projection writes them,
// Attention reads it as it is; otherwise it gets tensors of rank 4. Expanded key heads become grouped heads, and a
// Concat with a cache becomes Attention's past and present.
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

#include "ops/infer.h"
#include "optimizer/fusion/attention_mask.h"
#include "optimizer/fusion/attention_scores.h"
#include "optimizer/passes/passes.h"
#include "optimizer/shapes/axis_view.h"
#include "optimizer/shapes/run_time_shape.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kBatch = 0, kHead = 1, kRow = 2, kSize = 3;
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
    const auto probabilities = FindProbabilities(graph_, context_, id);
    if (!probabilities) return false;
    const auto scores = FindScores(graph_, context_, id, *probabilities);
    return scores && Fuse(id, *scores, *probabilities);
  }

 private:
  struct Heads {
    AxisView view;  // axes batch, head, row, size
    AxisView::Plan plan;
    ValueId past = kNoValue, present = kNoValue;  // a cache in front of the rows, and both together
    Dim repeats = Dim(1);                         // query heads that share one of these
  };

  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }
  const Node* NodeOf(ValueId value) const {
    const NodeId id = graph_.value(value).producer;
    return id == kNoNode ? nullptr : &graph_.node(id);
  }

  // ---- Queries, keys and values

  // Reads through views, and through the Expand of heads that several query heads share.
  std::optional<Heads> TraceHeads(ValueId value, double* scale, bool swapped) const {
    std::optional<AxisView> view = AxisView::Trace(graph_, value, {.scale = scale});
    if (!view || view->rank() < 3) return std::nullopt;
    const std::size_t rank = view->rank(), row = swapped ? rank - 1 : rank - 2, size = swapped ? rank - 2 : rank - 1;
    std::vector<std::size_t> batch(rank > 3 ? rank - 3 : 1);  // every axis before the heads
    for (std::size_t i = 0; i < batch.size(); ++i) batch[i] = i;
    view->Regroup(rank > 3 ? std::vector{batch, {rank - 3}, {row}, {size}} : std::vector{batch, {row}, {size}});
    if (rank == 3) {  // batch and heads in one axis
      if (view->axis(0).size() > 2) return std::nullopt;
      view->SplitAxis(0, view->axis(0).size() / 2);
    }
    Heads heads{std::move(*view), {}, kNoValue, kNoValue, Dim(1)};
    ReadExpand(&heads, scale);
    return heads;
  }

  // Heads are repeated by Expand or Tile, or by a Concat of a value with itself.
  static bool Repeats(const Node& node) {
    if (Is(node, "Expand") || Is(node, "Tile")) return true;
    return Is(node, "Concat") &&
           std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return input == node.inputs[0]; });
  }

  void ReadExpand(Heads* heads, double* scale) const {
    const Node* expand = NodeOf(heads->view.source());
    if (expand == nullptr || !Repeats(*expand)) return;
    const Type &from = TypeOf(expand->inputs[0]), &to = TypeOf(expand->outputs[0]);
    const AxisView::Axis& axis = heads->view.axis(kHead);
    if (!from.has_rank || !to.has_rank || from.rank() != to.rank() || axis.empty()) return;
    const AxisView::Place place = heads->view.PlaceOf(axis.back());
    const Dim size = heads->view.SizeOf({axis.back()});
    for (std::size_t i = 0; i < from.rank(); ++i) {
      const bool repeated = i == place.axis && from.dims[i].known() && from.dims[i].number() == 1;
      if (repeated ? !SameDim(to.dims[i], size) : !SameDim(from.dims[i], to.dims[i])) return;
    }
    if (!from.dims[place.axis].known() || from.dims[place.axis].number() != 1) return;
    AxisView shared = heads->view.Without(axis.back(), expand->inputs[0]);
    const auto inner = AxisView::Trace(graph_, expand->inputs[0], {.scale = scale});
    if (inner && !shared.ReadThrough(*inner)) return;
    heads->view = std::move(shared);
    heads->repeats = size;
  }

  // A source that is Concat(past, new) over the rows: `new` takes its place.
  std::optional<Heads> BehindCache(const Heads& heads) const {
    const Node* concat = NodeOf(heads.view.source());
    const auto plan = heads.view.MakePlan();
    if (concat == nullptr || !Is(*concat, "Concat") || concat->inputs.size() != 2 || !plan || plan->nodes() != 0)
      return std::nullopt;
    const Type &past = TypeOf(concat->inputs[0]), &added = TypeOf(concat->inputs[1]);
    const std::int64_t axis = IntAttribute(*concat, "axis", 0);
    if (!past.has_rank || !added.has_rank || past.rank() != 4 || added.rank() != 4 || (axis != 2 && axis != -2))
      return std::nullopt;
    std::optional<AxisView> view = AxisView::Trace(graph_, concat->inputs[1]);
    if (!view) return std::nullopt;
    Heads behind{std::move(*view), {}, concat->inputs[0], concat->outputs[0], heads.repeats};
    for (const std::size_t i : {kBatch, kHead, kSize})
      if (!SameDim(Size(behind, i), Size(heads, i)) || !SameDim(past.dims[i], Size(heads, i))) return std::nullopt;
    return behind;
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

  static Dim Size(const Heads& heads, std::size_t axis) { return heads.view.SizeOf(heads.view.axis(axis)); }

  // Heads of keys and values are as many as those of the queries, are repeated, or are one.
  static bool FitTogether(const Heads& q, const Heads& k, const Heads& v) {
    const Dim heads = Size(k, kHead);
    const bool one = heads.known() && heads.number() == 1 && SameDim(k.repeats, Dim(1));
    return SameDim(Size(q, kBatch), Size(k, kBatch)) && SameDim(Size(q, kBatch), Size(v, kBatch)) &&
           SameDim(Size(k, kHead), Size(v, kHead)) && SameDim(k.repeats, v.repeats) &&
           (one || SameDim(Size(q, kHead), heads * k.repeats)) && SameDim(Size(q, kSize), Size(k, kSize)) &&
           SameDim(Size(k, kRow), Size(v, kRow));
  }

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
    double scale = 1;
    auto q = TraceHeads(queries, &scale, false);
    auto k = TraceHeads(product.inputs[1], &scale, true);
    auto v = TraceHeads(graph_.node(last).inputs[probabilities.transposed ? 0 : 1], nullptr, probabilities.transposed);
    if (!q || !k || !v || !SameDim(q->repeats, Dim(1)) || !FitTogether(*q, *k, *v))
      return context_.No(graph_, softmax, "queries, keys and values are not batches of heads that match");
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
    const auto k_new = BehindCache(*k), v_new = BehindCache(*v);
    std::vector<ValueId> read = {q->view.source(), probabilities.condition};
    for (const ScoreStep& step : scores.steps) read.push_back(step.operand);
    const bool cached = k_new && v_new && SameDim(Size(*k_new, kRow), Size(*v_new, kRow)) &&
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
    const bool zero_rows = probabilities.guarded || probabilities.condition != kNoValue;
    const BuiltMask built = BuildMask(rewrite, scores, alignments, zero_rows);
    std::vector<Attribute> attributes;
    if (!AddScale(scale * built.scale, scores.cap, *q, TypeOf(old).dtype, &attributes)) {
      if (built.mask != kNoValue) rewrite.DropUnused(built.mask);
      return context_.No(graph_, softmax, "its scale or cap needs a double");
    }
    return Build(rewrite, softmax, *q, *k, *v, flat, built.mask, std::move(attributes), old, probabilities.transposed);
  }

  // How many keys there are, as the sum of these sizes; nothing if they cannot be computed without the new node.
  std::optional<std::vector<RunTimeShape>> CountKeys(const Heads& k) const {
    std::vector<RunTimeShape> counts;
    if (k.past != kNoValue) {
      auto rows = CountRows(TypeOf(k.past).dims[kRow], k.past);
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
      all[i] = TraceHeads(node.inputs[i], nullptr, false);
    }
    auto& [q, k, v] = all;
    if (!q || !k || !v || !SameDim(q->repeats, Dim(1)) || !SameDim(k->repeats, v->repeats)) return false;
    bool gains = !SameDim(k->repeats, Dim(1));
    k->repeats = v->repeats = FloorDiv(Size(*q, kHead), Size(*k, kHead));  // the node itself may group heads, too
    if (!FitTogether(*q, *k, *v)) return false;
    const auto k_new = BehindCache(*k), v_new = BehindCache(*v);
    // With a cache in front, the first query of a causal node stands behind it.
    const bool plain = IntAttribute(node, "is_causal", 0) == 0 && IntAttribute(node, "left_window_size", -1) == -1 &&
                       IntAttribute(node, "right_window_size", -1) == -1;
    if (plain && k_new && v_new && SameDim(Size(*k_new, kRow), Size(*v_new, kRow)) &&
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
    graph_.value(old).type.dims[transposed ? 3 : 2] = rows;
    for (const ValueId end : ViewsBehind(old)) {
      if (end == old || graph_.value(end).is_output) continue;
      graph_.value(end).type = Type();
      ops::InferAt(graph_, graph_.value(end).producer, context_.registry);
    }
  }

  // All three as projections write them, unless fewer elements move otherwise.
  static bool PlanAsProjections(Heads* q, Heads* k, Heads* v) {
    const std::array<Heads*, 3> all = {q, k, v};
    int flat = 0, deep = 0;
    bool may_be_deep = true;
    for (const Heads* heads : all) {
      const auto plan = heads->view.MakePlan();
      may_be_deep &= plan.has_value();
      deep += plan ? plan->transposes() : 0;
    }
    for (Heads* heads : all) {
      if (!PlanFlat(heads)) return false;
      flat += heads->plan.transposes();
    }
    return flat == 0 || !may_be_deep || flat < deep;
  }

  // As [batch, row, head * size].
  static bool PlanFlat(Heads* heads) {
    if (!Size(*heads, kHead).known()) return false;
    AxisView flat = heads->view;
    flat.Regroup({{kBatch}, {kRow}, {kHead, kSize}});
    const auto plan = flat.MakePlan();
    if (plan) heads->plan = *plan;
    return plan.has_value();
  }
  static bool PlanDeep(Heads* heads) {
    const auto plan = heads->view.MakePlan();
    if (plan) heads->plan = *plan;
    return plan.has_value();
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
    const ValueId y = rewrite.Add("Attention",
                                  {q.view.Build(rewrite, q.plan), k.view.Build(rewrite, k.plan),
                                   v.view.Build(rewrite, v.plan), mask, k.past, v.past},
                                  std::move(attributes));
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
    AddCaches(graph_.value(y).producer, k, v);
    rewrite.Replace(end->value, BuildEnd(rewrite, *end, y));
    for (const Heads* heads : {&k, &v})
      if (heads->present != kNoValue) rewrite.DropUnused(heads->present);
    return true;
  }

  // The node takes over the outputs of the two Concats.
  void AddCaches(NodeId id, const Heads& k, const Heads& v) {
    if (k.past == kNoValue) return;
    for (const auto& [heads, index] : {std::pair{&k, 1u}, std::pair{&v, 2u}}) {
      const NodeId concat = graph_.value(heads->present).producer;
      if (concat == kNoNode) continue;
      if (graph_.UseCount(heads->present) <= 1 && !graph_.value(heads->present).is_output) continue;
      graph_.EraseNode(concat);
      graph_.MoveOutput(id, index, heads->present);
    }
  }

  Graph& graph_;
  const PassContext& context_;
};

bool FuseAttention(Graph& graph, PassContext& context) {
  return ForEachNode(graph, [&](Graph& each, NodeId id) { return AttentionFuser(each, context).Try(id); });
}

}  // namespace

constinit const Pass kFuseAttention = {.name = "fuse_attention", .level = Level::kExtended, .run = FuseAttention};

}  // namespace sardonyx::optimizer
