// optimizer/passes/fuse_attention.cpp - MatMul, scale, mask, Softmax and MatMul become one Attention node.
//
// Exporters wrap these five in Reshape, Transpose, Unsqueeze, Cast and guards against NaN in many ways. The pass starts
// at a Softmax, walks up through what only scales, masks or views the scores, and reads queries, keys and values
// through their views (optimizer/axis_view.h): whatever the spelling, they are axes batch, head, row and element of a
// source. If that source has the axes in the order batch, row, head, element, as a projection writes them, Attention
// reads it as it is; else it gets tensors of rank 4. Expanded key heads become grouped heads, a Concat with a cache
// becomes Attention's past and present.
//
// Rows that are masked with -infinity throughout are zeros here, where Softmax alone would give NaN.
#include <algorithm>
#include <cmath>

#include "optimizer/axis_view.h"
#include "optimizer/passes.h"

namespace sardonyx::optimizer {
namespace {

constexpr std::size_t kBatch = 0, kHead = 1, kRow = 2, kSize = 3;
constexpr double kAbsorbing = 65000;  // a fill of at most minus this hides the score it replaces

// One step between the product of queries and keys and Softmax.
struct ScoreStep {
  enum class Kind { kScale, kAdd, kFill };
  Kind kind = Kind::kScale;
  double factor = 1;           // kScale
  ValueId operand = kNoValue;  // kAdd: the summand; kFill: the condition under which the score stays
  ValueId fill = kNoValue;     // kFill
  bool keep_if_true = true;
  std::vector<Dim> dims;  // of the scores there
};

struct Scores {
  NodeId product = kNoNode;      // queries times keys
  std::vector<ScoreStep> steps;  // from Softmax up
};

class AttentionFuser {
 public:
  AttentionFuser(Graph& graph, const ops::Registry& registry) : graph_(graph), registry_(registry) {}

  bool Run() {
    bool changed = false;
    for (const NodeId id : std::vector<NodeId>(graph_.order)) changed |= !graph_.node(id).erased && Try(id);
    return changed;
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
  static bool Is(const Node& node, std::string_view op_type) { return node.domain.empty() && node.op_type == op_type; }
  bool SameShape(ValueId a, ValueId b) const {
    const Type &x = TypeOf(a), &y = TypeOf(b);
    return x.has_rank && y.has_rank && x.rank() == y.rank() &&
           std::equal(x.dims.begin(), x.dims.end(), y.dims.begin(),
                      [](const Dim& d, const Dim& e) { return SameDim(d, e); });
  }

  // Where the probabilities meet the values: past Cast, guards against NaN and views. kNoNode if they go elsewhere.
  NodeId FindOutputProduct(ValueId value, ValueId* probabilities) const {
    for (int hops = 0; hops < 8; ++hops) {
      const ValueInfo& info = graph_.value(value);
      if (info.is_output) return kNoNode;
      if (const ValueId guarded = GuardedAgainstNaN(value); guarded != kNoValue) {
        value = guarded;
        continue;
      }
      if (info.consumers.size() != 1) return kNoNode;
      const Node& reader = graph_.node(info.consumers[0]);
      if (Is(reader, "MatMul")) {
        *probabilities = value;
        return reader.inputs[0] == value && reader.inputs[1] != value ? reader.id : kNoNode;
      }
      const bool is_cast = Is(reader, "Cast") && IsFloating(TypeOf(reader.outputs[0]).dtype);
      const bool is_view = IsViewNode(reader) && !Is(reader, "Transpose") && reader.inputs[0] == value;
      if (!is_cast && !is_view) return kNoNode;
      value = reader.outputs[0];
    }
    return kNoNode;
  }

  // Where(IsNaN(p), 0, p), if that is all that reads p.
  ValueId GuardedAgainstNaN(ValueId value) const {
    const std::vector<NodeId>& readers = graph_.value(value).consumers;
    if (readers.size() != 2) return kNoValue;
    for (const std::size_t i : {0u, 1u}) {
      const Node &test = graph_.node(readers[i]), &choice = graph_.node(readers[1 - i]);
      if (!Is(test, "IsNaN") || !Is(choice, "Where") || choice.inputs[0] != test.outputs[0]) continue;
      const auto zero = ScalarOf(graph_, choice.inputs[1]);
      if (zero && *zero == 0 && choice.inputs[2] == value && SoleReader(graph_, test.outputs[0]) == choice.id &&
          SameShape(choice.outputs[0], value)) {
        return choice.outputs[0];
      }
    }
    return kNoValue;
  }

  // Up from Softmax to the product of queries and keys. Both operands of a sum may lead to products; the first does it.
  bool FindScores(ValueId value, int hops, Scores* scores) const {
    const Node* node = NodeOf(value);
    if (node == nullptr || hops > 12 || SoleReader(graph_, value) == kNoNode || !node->domain.empty()) return false;
    if (node->op_type == "MatMul") {
      scores->product = node->id;
      return true;
    }
    const std::size_t steps = scores->steps.size();
    const auto up = [&](ValueId next) {
      if (FindScores(next, hops + 1, scores)) return true;
      scores->steps.resize(steps);
      return false;
    };
    const bool cast =
        node->op_type == "Cast" && IsFloating(TypeOf(node->inputs[0]).dtype) && IsFloating(TypeOf(value).dtype);
    if (cast || (IsViewNode(*node) && node->op_type != "Transpose")) return up(node->inputs[0]);
    if (node->op_type == "Mul" || node->op_type == "Div") return ScaleStep(*node, scores) && up(Scaled(*node));
    if (node->op_type == "Add") {
      for (const std::size_t i : {0u, 1u}) {
        if (!SameShape(node->inputs[i], value)) continue;
        scores->steps.push_back(
            {.kind = ScoreStep::Kind::kAdd, .operand = node->inputs[1 - i], .dims = TypeOf(value).dims});
        if (up(node->inputs[i])) return true;
      }
      return false;
    }
    return node->op_type == "Where" && FillStep(*node, scores) &&
           up(node->inputs[scores->steps.back().keep_if_true ? 1 : 2]);
  }

  ValueId Scaled(const Node& node) const { return node.inputs[ScalarOf(graph_, node.inputs[1]) ? 0 : 1]; }
  bool ScaleStep(const Node& node, Scores* scores) const {
    auto factor = ScalarOf(graph_, node.inputs[1]);
    if (!factor && node.op_type == "Mul") factor = ScalarOf(graph_, node.inputs[0]);
    if (!factor || *factor == 0 || !SameShape(Scaled(node), node.outputs[0])) return false;
    scores->steps.push_back({.kind = ScoreStep::Kind::kScale, .factor = node.op_type == "Mul" ? *factor : 1 / *factor});
    return true;
  }
  // Where with a constant that is so low that it makes no difference whether it is added or replaces the score.
  bool FillStep(const Node& node, Scores* scores) const {
    for (const bool keep_if_true : {true, false}) {
      const ValueId kept = node.inputs[keep_if_true ? 1 : 2], fill = node.inputs[keep_if_true ? 2 : 1];
      const auto low = ScalarOf(graph_, fill);
      if (!low || *low > -kAbsorbing || !SameShape(kept, node.outputs[0])) continue;
      scores->steps.push_back({.kind = ScoreStep::Kind::kFill,
                               .operand = node.inputs[0],
                               .fill = fill,
                               .keep_if_true = keep_if_true,
                               .dims = TypeOf(node.outputs[0]).dims});
      return true;
    }
    return false;
  }

  bool Try(NodeId id) {
    const Node& softmax = graph_.node(id);
    if (!Is(softmax, "Softmax") || !HasOperator(registry_, "", "Attention")) return false;
    const Type& type = TypeOf(softmax.outputs[0]);
    const std::int64_t axis = IntAttribute(softmax, "axis", -1);
    if (!type.has_rank || (type.rank() != 3 && type.rank() != 4)) return false;
    if (axis != -1 && axis + 1 != static_cast<std::int64_t>(type.rank())) return false;
    Scores scores;
    ValueId probabilities = kNoValue;
    const NodeId last = FindOutputProduct(softmax.outputs[0], &probabilities);
    if (last == kNoNode || !FindScores(softmax.inputs[0], 0, &scores)) return false;
    return Fuse(scores, last, probabilities);
  }

  // ---- Queries, keys and values

  // Reads through views, and through the Expand of heads that several query heads share.
  std::optional<Heads> TraceHeads(ValueId value, double* scale, bool swapped) const {
    std::optional<AxisView> view = AxisView::Trace(graph_, value, {.scale = scale});
    if (!view || (view->rank() != 3 && view->rank() != 4)) return std::nullopt;
    if (swapped) {
      if (view->rank() == 4) view->Regroup({{0}, {1}, {3}, {2}});
      if (view->rank() == 3) view->Regroup({{0}, {2}, {1}});
    }
    if (view->rank() == 3) {  // batch and heads in one axis
      if (view->axis(0).size() > 2) return std::nullopt;
      view->SplitAxis(0, view->axis(0).size() / 2);
    }
    Heads heads{std::move(*view), {}, kNoValue, kNoValue, Dim(1)};
    ReadExpand(&heads, scale);
    return heads;
  }

  void ReadExpand(Heads* heads, double* scale) const {
    const Node* expand = NodeOf(heads->view.source());
    if (expand == nullptr || !Is(*expand, "Expand")) return;
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

  static Dim Size(const Heads& heads, std::size_t axis) { return heads.view.SizeOf(heads.view.axis(axis)); }

  static bool FitTogether(const Heads& q, const Heads& k, const Heads& v) {
    return SameDim(Size(q, kBatch), Size(k, kBatch)) && SameDim(Size(q, kBatch), Size(v, kBatch)) &&
           SameDim(Size(k, kHead), Size(v, kHead)) && SameDim(k.repeats, v.repeats) &&
           SameDim(Size(q, kHead), Size(k, kHead) * k.repeats) && SameDim(Size(q, kSize), Size(k, kSize)) &&
           SameDim(Size(k, kRow), Size(v, kRow));
  }

  // ---- The mask

  // A summand or condition that is right for scores of shape `dims`, as one for scores of shape `four`.
  struct Alignment {
    bool ok = false;
    std::optional<std::vector<std::int64_t>> expand, reshape;
  };
  Alignment Align(ValueId mask, const std::vector<Dim>& dims, const std::vector<Dim>& four) const {
    const Type& type = TypeOf(mask);
    Alignment alignment;
    if (!type.is_tensor() || !type.has_rank || type.rank() > dims.size()) return alignment;
    const auto is_one = [](const Dim& d) { return d.known() && d.number() == 1; };
    std::vector<Dim> mine(dims.size() - type.rank(), Dim(1));
    mine.insert(mine.end(), type.dims.begin(), type.dims.end());
    if (dims.size() == 4 && std::equal(dims.begin(), dims.end(), four.begin(), SameDim)) {
      alignment.ok = true;
      return alignment;
    }
    // Both shapes count the same elements in the same order: cut them into segments of equal products.
    std::vector<Dim> result, expanded = mine;
    for (std::size_t i = 0, j = 0; i < dims.size() || j < four.size();) {
      std::size_t i_end = i, j_end = j;
      Dim left(1), right(1);
      do {
        const bool take_left =
            j_end == four.size() || (i_end < dims.size() && (SameDim(left, right) || IsLess(left, right)));
        if (take_left) {
          if (i_end == dims.size()) return alignment;
          left = left * dims[i_end++];
        } else {
          right = right * four[j_end++];
        }
      } while (!SameDim(left, right));
      bool any = false, all = true;
      for (std::size_t at = i; at < i_end; ++at) {
        if (is_one(dims[at])) continue;
        const bool present = SameDim(mine[at], dims[at]);
        if (!present && !is_one(mine[at])) return alignment;
        any |= present;
        all &= present;
      }
      if (any && !all) {
        for (std::size_t at = i; at < i_end; ++at) expanded[at] = dims[at];
      }
      for (std::size_t at = j; at < j_end; ++at) result.push_back(any ? four[at] : Dim(1));
      i = i_end;
      j = j_end;
    }
    if (!std::equal(mine.begin(), mine.end(), expanded.begin(), SameDim)) {
      std::vector<std::int64_t> numbers;
      for (const Dim& d : expanded) {
        if (!d.known()) return alignment;
        numbers.push_back(d.number());
      }
      alignment.expand = std::move(numbers);
    }
    alignment.reshape = ReshapeTarget(expanded, result, false);
    alignment.ok = alignment.reshape.has_value();
    return alignment;
  }
  // Which side of two products to continue: the one that divides the other.
  static bool IsLess(const Dim& a, const Dim& b) {
    if (a.known() && b.known()) return a.number() < b.number();
    const Dim q = FloorDiv(b, a);
    return !q.unknown() && SameDim(q * a, b);
  }

  ValueId Aligned(Rewrite& rewrite, ValueId mask, const Alignment& alignment) const {
    if (alignment.expand) mask = rewrite.Add("Expand", {mask, rewrite.Ints(*alignment.expand)});
    if (alignment.reshape) mask = rewrite.Add("Reshape", {mask, rewrite.Ints(*alignment.reshape)});
    return mask;
  }

  // What is added to the scaled scores; multiplies into `scale`.
  ValueId BuildMask(Rewrite& rewrite, const Scores& scores, const std::vector<Alignment>& alignments,
                    double* scale) const {
    ValueId mask = kNoValue;
    for (std::size_t i = scores.steps.size(); i-- > 0;) {
      const ScoreStep& step = scores.steps[i];
      if (step.kind == ScoreStep::Kind::kScale) {
        *scale *= step.factor;
        if (mask != kNoValue) mask = rewrite.Add("Mul", {mask, rewrite.Scalar(TypeOf(mask).dtype, step.factor)});
        continue;
      }
      const ValueId operand = Aligned(rewrite, step.operand, alignments[i]);
      if (step.kind == ScoreStep::Kind::kAdd) {
        mask = mask == kNoValue ? operand : rewrite.Add("Add", {mask, operand});
        continue;
      }
      const DType dtype = TypeOf(step.fill).dtype;
      const ValueId fill = rewrite.Scalar(dtype, *ScalarOf(graph_, step.fill));
      if (mask == kNoValue) mask = rewrite.Scalar(dtype, 0);
      mask =
          step.keep_if_true ? rewrite.Add("Where", {operand, mask, fill}) : rewrite.Add("Where", {operand, fill, mask});
    }
    return mask;
  }

  // ---- The node

  bool Fuse(const Scores& scores, NodeId last, ValueId probabilities) {
    const Node& product = graph_.node(scores.product);
    const ValueId old = graph_.node(last).outputs[0];
    double scale = 1;
    auto q = TraceHeads(product.inputs[0], &scale, false);
    auto k = TraceHeads(product.inputs[1], &scale, true);
    auto v = TraceHeads(graph_.node(last).inputs[1], nullptr, false);
    if (!q || !k || !v || !SameDim(q->repeats, Dim(1)) || !FitTogether(*q, *k, *v)) return false;
    for (const ValueId source : {q->view.source(), k->view.source(), v->view.source()})
      if (TypeOf(source).dtype != TypeOf(old).dtype) return false;
    if (product.provider != graph_.node(last).provider || !TypeOf(probabilities).has_rank) return false;
    const std::vector<Dim> four = {Size(*q, kBatch), Size(*q, kHead), Size(*q, kRow), Size(*k, kRow)};
    std::vector<Alignment> alignments;
    for (const ScoreStep& step : scores.steps) {
      alignments.emplace_back();
      if (step.kind == ScoreStep::Kind::kScale) continue;
      alignments.back() = Align(step.operand, step.dims, four);
      if (!alignments.back().ok) return false;
    }
    const auto k_new = BehindCache(*k), v_new = BehindCache(*v);
    const bool cached = k_new && v_new && SameDim(Size(*k_new, kRow), Size(*v_new, kRow));
    if (cached) {
      k = k_new;
      v = v_new;
    }
    const bool flat = PlanFlat(&*q) && PlanFlat(&*k) && PlanFlat(&*v);
    if (!flat && !(PlanDeep(&*q) && PlanDeep(&*k) && PlanDeep(&*v))) return false;
    Rewrite rewrite(graph_, registry_, last);
    const ValueId mask = BuildMask(rewrite, scores, alignments, &scale);
    const bool joined = TypeOf(old).rank() == 3;
    return Build(rewrite, *q, *k, *v, flat, joined, mask, scale, old);
  }

  // As [batch, row, head * size], if that is what the source has.
  static bool PlanFlat(Heads* heads) {
    if (!Size(*heads, kHead).known()) return false;
    AxisView flat = heads->view;
    flat.Regroup({{kBatch}, {kRow}, {kHead, kSize}});
    const auto plan = flat.MakePlan();
    if (!plan || plan->transposes() != 0) return false;
    heads->plan = *plan;
    return true;
  }
  static bool PlanDeep(Heads* heads) {
    const auto plan = heads->view.MakePlan();
    if (plan) heads->plan = *plan;
    return plan.has_value();
  }

  bool Build(Rewrite& rewrite, const Heads& q, const Heads& k, const Heads& v, bool flat, bool joined, ValueId mask,
             double scale, ValueId old) {
    std::vector<Attribute> attributes = {{"scale", static_cast<float>(scale)}};
    if (flat) {
      attributes.push_back({"q_num_heads", Size(q, kHead).number()});
      attributes.push_back({"kv_num_heads", Size(k, kHead).number()});
    }
    const ValueId y = rewrite.Add("Attention",
                                  {q.view.Build(rewrite, q.plan), k.view.Build(rewrite, k.plan),
                                   v.view.Build(rewrite, v.plan), mask, k.past, v.past},
                                  std::move(attributes));
    auto result = AxisView::Of(graph_, y);
    if (flat) {
      result->Reshape({Size(q, kBatch), Size(q, kRow), Size(q, kHead), Size(v, kSize)});
      result->Regroup({{0}, {2}, {1}, {3}});
    }
    if (joined) result->Regroup({{0, 1}, {2}, {3}});
    const auto plan = result->MakePlan();
    if (!plan) {
      rewrite.DropUnused(y);
      return false;
    }
    AddCaches(graph_.value(y).producer, k, v);
    rewrite.Replace(old, result->Build(rewrite, *plan));
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
  const ops::Registry& registry_;
};

bool FuseAttention(Graph& graph, PassContext& context) {
  return ForEachGraph(graph, [&](Graph& each) { return AttentionFuser(each, context.registry).Run(); });
}

}  // namespace

constinit const Pass kFuseAttention = {.name = "fuse_attention", .level = Level::kExtended, .run = FuseAttention};

}  // namespace sardonyx::optimizer
