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

bool IsHalf(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kBFloat16; }

// The input of a Cast from 16-bit floats to float (or, `narrows`, the other way round); kNoValue: another node.
ValueId BeforeCast(const Graph& graph, ValueId value, bool narrows) {
  const Node* cast = ProducerOf(graph, value, "Cast");
  if (cast == nullptr) return kNoValue;
  const DType from = TypeOf(graph, cast->inputs[0]).dtype, to = TypeOf(graph, value).dtype;
  return IsHalf(narrows ? to : from) && (narrows ? from : to) == DType::kFloat ? cast->inputs[0] : kNoValue;
}

// How a view lies in its source, if each axis of the source is one of the view's, or the last one is heads and sizes.
// Elements are last.
std::optional<CacheForm> FormOf(const AxisView& view, const Type& source) {
  CacheForm form;
  form.dtype = source.dtype;
  std::vector<Dim> dims = source.dims;
  if (dims.size() == 3) {
    const AxisView::Axis& sizes = view.axis(kSize);
    if (sizes.size() != 1 || view.PlaceOf(sizes.front()).axis != 2) return std::nullopt;
    const Dim heads = view.SizeOf(view.axis(kHead)), size = view.SizeOf(sizes);
    if (!heads.known() || !size.known() || !SameDim(heads * size, dims.back())) return std::nullopt;
    dims.back() = heads;
    dims.push_back(size);
    form.joined = true;
  }
  if (dims.size() != form.axes.size()) return std::nullopt;
  constexpr std::size_t kNone = 4;
  form.axes.fill(kNone);
  for (std::size_t i = 0; i < form.axes.size(); ++i) {
    const AxisView::Axis& axis = view.axis(i);
    if (axis.size() > 1) return std::nullopt;
    if (axis.empty()) continue;
    std::size_t at = view.PlaceOf(axis.front()).axis;
    if (form.joined && i == kSize) at = 3;
    if (at >= form.axes.size() || form.axes[at] != kNone || !SameDim(view.SizeOf(axis), dims[at])) return std::nullopt;
    form.axes[at] = i;
  }
  for (std::size_t i = 0; i < form.axes.size(); ++i) {  // of size 1: where it is usual, or where nothing else is
    if (!view.axis(i).empty()) continue;
    std::size_t at = form.axes[i] == kNone ? i : 0;
    while (at < form.axes.size() && (form.axes[at] != kNone || !IsOne(dims[at]))) ++at;
    if (at == form.axes.size()) return std::nullopt;
    form.axes[at] = i;
  }
  if (form.axes.back() != kSize) return std::nullopt;
  return form;
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
  AxisView whole = heads.view;
  if (const ValueId stored = BeforeCast(graph, whole.source(), false); stored != kNoValue) {
    const auto inner = AxisView::Trace(graph, stored);
    if (!inner || !whole.ReadThrough(*inner)) return std::nullopt;
  }
  const Node* concat = NodeOf(graph, whole.source());
  if (concat == nullptr || !Is(*concat, "Concat") || concat->inputs.size() != 2) return std::nullopt;
  const Type &past = TypeOf(graph, concat->inputs[0]), &added = TypeOf(graph, concat->inputs[1]);
  const Type& joined = TypeOf(graph, whole.source());
  if (!past.has_rank || !added.has_rank || !joined.has_rank || past.rank() != joined.rank() ||
      added.rank() != joined.rank())
    return std::nullopt;
  const auto form = FormOf(whole, joined);
  const std::int64_t axis = IntAttribute(*concat, "axis", 0), rank = static_cast<std::int64_t>(joined.rank());
  if (!form || static_cast<std::int64_t>(form->RowAxis()) != (axis < 0 ? axis + rank : axis)) return std::nullopt;
  std::optional<AxisView> view = AxisView::Trace(graph, concat->inputs[1]);
  if (!view) return std::nullopt;
  if (form->joined && !view->Reshape({added.dims[0], added.dims[1], Size(heads, kHead), Size(heads, kSize)}))
    return std::nullopt;
  std::vector<std::vector<std::size_t>> order(form->axes.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[form->axes[i]] = {i};
  view->Regroup(order);
  if (IsHalf(form->dtype) && TypeOf(graph, heads.view.source()).dtype != form->dtype) {
    const ValueId floats = BeforeCast(graph, view->source(), true);
    const auto inner = floats == kNoValue ? std::nullopt : AxisView::Trace(graph, floats);
    if (!inner || !view->ReadThrough(*inner)) return std::nullopt;
  }
  Heads behind{std::move(*view), {}, concat->inputs[0], concat->outputs[0], heads.repeats, *form};
  for (const std::size_t i : {kBatch, kHead, kSize})
    if (!SameDim(Size(behind, i), Size(heads, i))) return std::nullopt;
  for (std::size_t i = 0; i < past.rank(); ++i)
    if (i != form->RowAxis() && !SameDim(past.dims[i], joined.dims[i])) return std::nullopt;
  return behind;
}

std::size_t CacheForm::RowAxis() const {
  return static_cast<std::size_t>(std::find(axes.begin(), axes.end(), kRow) - axes.begin());
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
