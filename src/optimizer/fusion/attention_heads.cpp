// optimizer/fusion/attention_heads.cpp - reads the queries, keys and values of attention through their views, through
// what repeats heads for groups of queries, and through caches in front of them.
#include "optimizer/fusion/attention_heads.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace sardonyx::optimizer {
namespace {

const Type& TypeOf(const Graph& graph, ValueId value) { return graph.value(value).type; }
const Node* NodeOf(const Graph& graph, ValueId value) {
  const NodeId id = graph.value(value).producer;
  return id == kNoNode ? nullptr : &graph.node(id);
}
bool IsOne(const Dim& d) { return d.known() && d.number() == 1; }

// The same heads of `source`, which lacks the innermost piece of their axis.
void TakeRepeats(const Graph& graph, Heads* heads, int piece, const Dim& times, ValueId source, double* scale) {
  AxisView shared = heads->view.Without(piece, source);
  const auto inner = AxisView::Trace(graph, source, {.scale = scale});
  if (inner && !shared.ReadThrough(*inner)) return;
  heads->view = std::move(shared);
  heads->repeats = times;
}

// Heads are repeated by Expand or Tile, or by a Concat of a value with itself.
bool Repeats(const Node& node) {
  if (Is(node, "Expand") || Is(node, "Tile")) return true;
  return Is(node, "Concat") &&
         std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) { return input == node.inputs[0]; });
}

void ReadExpand(const Graph& graph, Heads* heads, double* scale) {
  const Node* expand = NodeOf(graph, heads->view.source());
  if (expand == nullptr || !Repeats(*expand)) return;
  const Type &from = TypeOf(graph, expand->inputs[0]), &to = TypeOf(graph, expand->outputs[0]);
  const AxisView::Axis& axis = heads->view.axis(kHead);
  if (!from.has_rank || !to.has_rank || from.rank() != to.rank() || axis.empty()) return;
  const AxisView::Place place = heads->view.PlaceOf(axis.back());
  const Dim size = heads->view.SizeOf({axis.back()});
  for (std::size_t i = 0; i < from.rank(); ++i) {
    const bool repeated = i == place.axis && from.dims[i].known() && from.dims[i].number() == 1;
    if (repeated ? !SameDim(to.dims[i], size) : !SameDim(from.dims[i], to.dims[i])) return;
  }
  if (!from.dims[place.axis].known() || from.dims[place.axis].number() != 1) return;
  TakeRepeats(graph, heads, axis.back(), size, expand->inputs[0], scale);
}

// Gather of heads 0, 0, 1, 1 ...
void ReadGather(const Graph& graph, Heads* heads, double* scale) {
  const Node* gather = NodeOf(graph, heads->view.source());
  if (gather == nullptr || !Is(*gather, "Gather") || heads->view.axis(kHead).size() != 1) return;
  const auto indices = IntsOf(graph, gather->inputs[1]);
  const Type &from = TypeOf(graph, gather->inputs[0]), &list = TypeOf(graph, gather->inputs[1]);
  if (!indices || !from.has_rank || !list.has_rank || list.rank() != 1) return;
  const AxisView::Place place = heads->view.PlaceOf(heads->view.axis(kHead).front());
  const std::int64_t axis = IntAttribute(*gather, "axis", 0), rank = static_cast<std::int64_t>(from.rank());
  if ((axis < 0 ? axis + rank : axis) != static_cast<std::int64_t>(place.axis)) return;
  const Dim& shared = from.dims[place.axis];
  const auto all = static_cast<std::int64_t>(indices->size());
  if (!SameDim(Size(*heads, kHead), Dim(all)) || !shared.known() || shared.number() < 1) return;
  const std::int64_t times = all / shared.number();
  if (times < 2 || times * shared.number() != all) return;
  for (std::int64_t i = 0; i < all; ++i)
    if ((*indices)[static_cast<std::size_t>(i)] != i / times) return;
  std::vector<Dim> dims = heads->view.Sizes();
  dims[kHead] = shared;
  dims.insert(dims.begin() + kHead + 1, Dim(times));
  if (!heads->view.Reshape(dims)) return;
  const int repeated = heads->view.axis(kHead + 1).front();
  heads->view.Regroup({{kBatch}, {kHead, kHead + 1}, {kRow + 1}, {kSize + 1}});
  TakeRepeats(graph, heads, repeated, Dim(times), gather->inputs[0], scale);
}

// Reads through views, and through the Expand of heads that several query heads share. `grouped`: the heads of a group
// have an axis of their own before the rows, which is 1 in keys and values or repeated there.
std::optional<Heads> Trace(const Graph& graph, ValueId value, double* scale, bool swapped, bool grouped) {
  std::optional<AxisView> view = AxisView::Trace(graph, value, {.scale = scale});
  if (!view || view->rank() < (grouped ? 5 : 3)) return std::nullopt;
  const std::size_t rank = view->rank(), row = swapped ? rank - 1 : rank - 2, size = swapped ? rank - 2 : rank - 1;
  const std::size_t first = rank - (grouped ? 4 : 3);                        // axis of heads
  std::vector<std::size_t> batch(rank > 3 ? first : 1), heads_of = {first};  // every axis before the heads
  if (grouped) heads_of.push_back(first + 1);
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i] = i;
  view->Regroup(rank > 3 ? std::vector{batch, heads_of, {row}, {size}} : std::vector{batch, {row}, {size}});
  if (rank == 3) {  // batch and heads in one axis
    if (view->axis(0).size() > 2) return std::nullopt;
    view->SplitAxis(0, view->axis(0).size() / 2);
  }
  Heads heads{std::move(*view), {}, kNoValue, kNoValue, Dim(1)};
  ReadExpand(graph, &heads, scale);
  if (SameDim(heads.repeats, Dim(1))) ReadGather(graph, &heads, scale);
  return heads;
}

AttentionOperands TraceAll(const Graph& graph, ValueId queries, ValueId keys, ValueId values, bool transposed,
                           bool grouped) {
  AttentionOperands all;
  all.q = Trace(graph, queries, &all.scale, false, grouped);
  all.k = Trace(graph, keys, &all.scale, true, grouped);
  all.v = Trace(graph, values, nullptr, transposed, grouped);
  return all;
}

// The axis of a group is 1, for all of the group, or the heads were repeated along it.
bool ServesGroup(const Graph& graph, ValueId value, const Dim& group, Heads* heads) {
  const Type& type = TypeOf(graph, value);
  if (!type.has_rank || type.rank() < 5 || !Size(*heads, kHead).known()) return false;
  if (IsOne(type.dims[type.rank() - 3]) && IsOne(heads->repeats)) heads->repeats = group;
  return SameDim(heads->repeats, group);
}

// As [batch, row, head * size].
bool PlanFlat(Heads* heads) {
  if (!Size(*heads, kHead).known()) return false;
  AxisView flat = heads->view;
  flat.Regroup({{kBatch}, {kRow}, {kHead, kSize}});
  const auto plan = flat.MakePlan();
  if (plan) heads->plan = *plan;
  return plan.has_value();
}

}  // namespace

std::optional<Heads> TraceHeads(const Graph& graph, ValueId value, double* scale, bool swapped) {
  return Trace(graph, value, scale, swapped, false);
}

AttentionOperands TraceOperands(const Graph& graph, ValueId queries, ValueId keys, ValueId values, bool transposed) {
  const Type& type = TypeOf(graph, queries);
  if (type.has_rank && type.rank() >= 5) {
    AttentionOperands all = TraceAll(graph, queries, keys, values, transposed, true);
    const Dim& group = type.dims[type.rank() - 3];
    if (all.q && all.k && all.v && ServesGroup(graph, keys, group, &*all.k) &&
        ServesGroup(graph, values, group, &*all.v) && all.FitTogether())
      return all;
  }
  return TraceAll(graph, queries, keys, values, transposed, false);
}

bool AttentionOperands::FitTogether() const {
  return q && k && v && IsOne(q->repeats) && optimizer::FitTogether(*q, *k, *v);
}

bool FitTogether(const Heads& q, const Heads& k, const Heads& v) {
  const Dim heads = Size(k, kHead);
  const bool one = heads.known() && heads.number() == 1 && SameDim(k.repeats, Dim(1));
  return SameDim(Size(q, kBatch), Size(k, kBatch)) && SameDim(Size(q, kBatch), Size(v, kBatch)) &&
         SameDim(Size(k, kHead), Size(v, kHead)) && SameDim(k.repeats, v.repeats) &&
         (one || SameDim(Size(q, kHead), heads * k.repeats)) && SameDim(Size(q, kSize), Size(k, kSize)) &&
         SameDim(Size(k, kRow), Size(v, kRow));
}

std::optional<Heads> BehindCache(const Graph& graph, const Heads& heads) {
  const Node* concat = NodeOf(graph, heads.view.source());
  const auto plan = heads.view.MakePlan();
  if (concat == nullptr || !Is(*concat, "Concat") || concat->inputs.size() != 2 || !plan || plan->nodes() != 0)
    return std::nullopt;
  const Type &past = TypeOf(graph, concat->inputs[0]), &added = TypeOf(graph, concat->inputs[1]);
  const std::int64_t axis = IntAttribute(*concat, "axis", 0);
  if (!past.has_rank || !added.has_rank || past.rank() != 4 || added.rank() != 4 || (axis != 2 && axis != -2))
    return std::nullopt;
  std::optional<AxisView> view = AxisView::Trace(graph, concat->inputs[1]);
  if (!view) return std::nullopt;
  Heads behind{std::move(*view), {}, concat->inputs[0], concat->outputs[0], heads.repeats};
  for (const std::size_t i : {kBatch, kHead, kSize})
    if (!SameDim(Size(behind, i), Size(heads, i)) || !SameDim(past.dims[i], Size(heads, i))) return std::nullopt;
  return behind;
}

bool PlanAsProjections(Heads* q, Heads* k, Heads* v) {
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

bool PlanDeep(Heads* heads) {
  const auto plan = heads->view.MakePlan();
  if (plan) heads->plan = *plan;
  return plan.has_value();
}

}  // namespace sardonyx::optimizer
