// optimizer/shapes/axis_view.cpp - cuts, regroups and permutes the pieces of axes, and writes the result as few nodes.
#include "optimizer/shapes/axis_view.h"

#include <algorithm>
#include <set>

namespace sardonyx::optimizer {
namespace {

bool IsOne(const Dim& d) { return d.known() && d.number() == 1; }

// a / b where it is exact for all values of the symbols.
std::optional<Dim> Quotient(const Dim& a, const Dim& b) {
  if (a.unknown() || b.unknown() || (b.known() && b.number() == 0)) return std::nullopt;
  if (IsOne(b)) return a;
  const Dim q = FloorDiv(a, b);
  if (q.unknown() || !SameDim(q * b, a)) return std::nullopt;
  return q;
}

bool SameDims(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), SameDim);
}

// Mul or Div by a constant of one element: the other operand.
ValueId ScaledOperand(const Graph& graph, const Node& node, double* scale) {
  const bool product = Is(node, "Mul");
  if ((!product && !Is(node, "Div")) || node.inputs.size() != 2) return kNoValue;
  for (const std::size_t i : {1u, 0u}) {
    const auto factor = ScalarOf(graph, node.inputs[i]);
    if (!factor || (i == 0 && !product)) continue;
    const ValueId other = node.inputs[1 - i];
    if (graph.value(node.inputs[i]).type.rank() > graph.value(other).type.rank()) continue;
    if (!IsFloating(graph.value(other).type.dtype) || (!product && *factor == 0)) continue;
    *scale = product ? *scale * *factor : *scale / *factor;
    return other;
  }
  return kNoValue;
}

}  // namespace

std::optional<std::vector<std::int64_t>> ReshapeTarget(const std::vector<Dim>& from, const std::vector<Dim>& to,
                                                       std::optional<std::size_t> authors_open) {
  std::vector<std::int64_t> target;
  std::optional<std::size_t> open;
  bool copies = false;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i].known() && to[i].number() != 0) {
      target.push_back(to[i].number());
    } else if (i < from.size() && SameDim(from[i], to[i])) {
      target.push_back(0);
      copies = true;
    } else {
      if (open) return std::nullopt;
      target.push_back(-1);
      open = i;
    }
  }
  if (open && copies && open != authors_open) return std::nullopt;
  return target;
}

std::optional<Reshaping> FindReshaping(const std::vector<Dim>& from, const std::vector<Dim>& to,
                                       std::optional<std::size_t> authors_open) {
  Reshaping reshaping;
  if (auto target = ReshapeTarget(from, to, authors_open)) {
    reshaping.target = std::move(*target);
    return reshaping;
  }
  std::vector<Dim> left, right;  // without the axes of size 1
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!IsOne(from[i])) left.push_back(from[i]);
  for (std::size_t i = 0; i < to.size(); ++i)
    if (!IsOne(to[i])) right.push_back(to[i]);
  if (!SameDims(left, right)) return std::nullopt;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (IsOne(from[i])) reshaping.squeezed.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < to.size(); ++i)
    if (IsOne(to[i])) reshaping.unsqueezed.push_back(static_cast<std::int64_t>(i));
  return reshaping;
}

ValueId Reshaping::Build(Rewrite& rewrite, ValueId value) const {
  if (squeezed.empty() && unsqueezed.empty()) return rewrite.Add("Reshape", {value, rewrite.Ints(target)});
  const ops::OpSchema* schema = SchemaFor(rewrite.graph(), "", "Squeeze");
  const auto add = [&](std::string_view op_type, const std::vector<std::int64_t>& axes) {
    if (axes.empty()) return;
    value = schema->max_inputs < 2 ? rewrite.Add(op_type, {value}, {{"axes", axes}})  // before opset 13
                                   : rewrite.Add(op_type, {value, rewrite.Ints(axes)});
  };
  add("Squeeze", squeezed);
  add("Unsqueeze", unsqueezed);
  return value;
}

bool IsViewNode(const Node& node) {
  if (IsForeign(node) || !node.domain.empty() || node.outputs.size() != 1) return false;
  return node.op_type == "Reshape" || node.op_type == "Transpose" || node.op_type == "Squeeze" ||
         node.op_type == "Unsqueeze" || node.op_type == "Flatten";
}

std::optional<std::size_t> OpenAxis(const Graph& graph, const Node& node) {
  if (!node.domain.empty() || node.op_type != "Reshape" || node.inputs.size() < 2) return std::nullopt;
  if (const auto numbers = IntsOf(graph, node.inputs[1])) {
    const auto at = std::find(numbers->begin(), numbers->end(), -1);
    return at == numbers->end() ? std::nullopt : std::optional<std::size_t>(at - numbers->begin());
  }
  const auto& sizes = graph.value(node.inputs[1]).shape_data;
  if (!sizes) return std::nullopt;
  const auto at =
      std::find_if(sizes->begin(), sizes->end(), [](const Dim& d) { return d.known() && d.number() == -1; });
  return at == sizes->end() ? std::nullopt : std::optional<std::size_t>(at - sizes->begin());
}

bool TargetIsGiven(const Graph& graph, const Node& node) {
  if (node.op_type != "Reshape" || node.inputs.size() < 2) return false;
  std::vector<ValueId> open = {node.inputs[1]};
  std::set<ValueId> seen;
  while (!open.empty()) {
    const ValueId value = open.back();
    open.pop_back();
    if (value == kNoValue || !seen.insert(value).second) continue;
    const ValueInfo& info = graph.value(value);
    if (info.constant() != nullptr || info.is_captured) continue;
    if (info.shape_data &&
        std::none_of(info.shape_data->begin(), info.shape_data->end(), [](const Dim& d) { return d.unknown(); }))
      continue;
    if (info.producer == kNoNode) return true;
    const Node& producer = graph.node(info.producer);
    if (producer.op_type != "Shape" && producer.op_type != "Size")
      open.insert(open.end(), producer.inputs.begin(), producer.inputs.end());
  }
  return false;
}

std::optional<AxisView> AxisView::Of(const Graph& graph, ValueId value) {
  const Type& type = graph.value(value).type;
  if (!type.is_tensor() || !type.has_rank) return std::nullopt;
  AxisView view;
  view.source_ = value;
  for (std::size_t i = 0; i < type.rank(); ++i) {
    Dim size = type.dims[i];
    // An unknown size is a symbol of its own, so that the axis can at least be moved.
    if (size.unknown()) size = Dim::Symbol("axis" + std::to_string(i) + "_of_" + std::to_string(value));
    if (size.known() && size.number() == 0) return std::nullopt;
    view.source_dims_.push_back(size);
    Axis axis;
    if (!IsOne(size)) {
      axis.push_back(static_cast<int>(view.pieces_.size()));
      view.pieces_.push_back({size, i});
    }
    view.axes_.push_back(std::move(axis));
  }
  return view;
}

std::optional<AxisView> AxisView::Trace(const Graph& graph, ValueId value, const Tracing& tracing) {
  struct Passed {
    NodeId node;
    ValueId input;
    double scale;
  };
  std::vector<Passed> chain;  // from the last node to the first
  for (ValueId at = value; at != tracing.stop;) {
    const NodeId producer = graph.value(at).producer;
    if (producer == kNoNode) break;
    const Node& node = graph.node(producer);
    double scale = 1;
    const ValueId scaled = tracing.scale != nullptr ? ScaledOperand(graph, node, &scale) : kNoValue;
    if (scaled == kNoValue && !IsViewNode(node)) break;
    at = scaled != kNoValue ? scaled : node.inputs[0];
    if (!graph.value(at).type.is_tensor() || !graph.value(at).type.has_rank) break;
    chain.push_back({producer, at, scale});
  }
  std::size_t first = chain.size();  // the view begins behind this node
  std::optional<AxisView> view = Of(graph, chain.empty() ? value : chain.back().input);
  for (std::size_t i = chain.size(); i-- > 0;) {
    const Node& node = graph.node(chain[i].node);
    const bool is_view = IsViewNode(node);
    if (view && (!is_view || view->Apply(graph, node))) continue;
    view = Of(graph, node.outputs[0]);
    first = i;
  }
  for (std::size_t i = 0; i < first; ++i) {
    if (tracing.scale != nullptr) *tracing.scale *= chain[i].scale;
    if (tracing.path != nullptr) tracing.path->push_back(chain[i].node);
  }
  return view;
}

Dim AxisView::SizeOf(const Axis& axis) const {
  Dim size(1);
  for (const int piece : axis) size = size * pieces_[static_cast<std::size_t>(piece)].size;
  return size;
}

std::vector<Dim> AxisView::Sizes() const {
  std::vector<Dim> sizes;
  for (const Axis& axis : axes_) sizes.push_back(SizeOf(axis));
  return sizes;
}

AxisView::Place AxisView::PlaceOf(int piece) const {
  const auto at = static_cast<std::size_t>(piece);
  Place place{pieces_[at].axis, Dim(1), at == 0 || pieces_[at - 1].axis != pieces_[at].axis};
  for (std::size_t i = at + 1; i < pieces_.size() && pieces_[i].axis == place.axis; ++i)
    place.step = place.step * pieces_[i].size;
  return place;
}

bool AxisView::Apply(const Graph& graph, const Node& node) {
  if (node.op_type == "Transpose") return Permute(node);
  const Type& type = graph.value(node.outputs[0]).type;
  return type.is_tensor() && type.has_rank && !TargetIsGiven(graph, node) && Reshape(type.dims);
}

bool AxisView::Permute(const Node& node) {
  std::vector<std::int64_t> perm;
  if (const AttributeValue* given = node.FindAttribute("perm")) {
    const auto* list = std::get_if<std::vector<std::int64_t>>(given);
    if (list == nullptr || list->size() != axes_.size()) return false;
    perm = *list;
  } else {
    for (std::size_t i = axes_.size(); i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
  }
  std::vector<Axis> permuted;
  for (const std::int64_t from : perm) permuted.push_back(axes_[static_cast<std::size_t>(from)]);
  axes_ = std::move(permuted);
  return true;
}

void AxisView::Cut(int piece, const Dim& first, const Dim& second) {
  const auto at = static_cast<std::size_t>(piece);
  pieces_.insert(pieces_.begin() + piece + 1, Piece{second, pieces_[at].axis});
  pieces_[at].size = first;
  for (Axis& axis : axes_) {
    for (std::size_t i = 0; i < axis.size(); ++i) {
      if (axis[i] > piece) {
        ++axis[i];
      } else if (axis[i] == piece) {
        axis.insert(axis.begin() + static_cast<std::ptrdiff_t>(i) + 1, piece + 1);
        ++i;
      }
    }
  }
}

bool AxisView::Reshape(const std::vector<Dim>& dims) {
  AxisView trial = *this;
  Axis all;
  for (const Axis& axis : trial.axes_) all.insert(all.end(), axis.begin(), axis.end());
  trial.axes_ = {all};  // Cut keeps this one list up to date
  std::vector<Axis> result;
  std::size_t next = 0;
  std::vector<std::size_t> ends;
  for (const Dim& wanted : dims) {
    if (wanted.unknown()) return false;
    Dim rest = wanted;
    while (!IsOne(rest)) {
      if (next >= trial.axes_[0].size()) return false;
      const int piece = trial.axes_[0][next];
      const Dim size = trial.pieces_[static_cast<std::size_t>(piece)].size;
      if (const auto left = Quotient(rest, size)) {
        rest = *left;
      } else if (const auto inner = Quotient(size, rest)) {
        trial.Cut(piece, rest, *inner);
        rest = Dim(1);
      } else {
        return false;
      }
      ++next;
    }
    ends.push_back(next);
  }
  if (next != trial.axes_[0].size()) return false;
  std::size_t begin = 0;
  for (const std::size_t end : ends) {
    result.emplace_back(trial.axes_[0].begin() + static_cast<std::ptrdiff_t>(begin),
                        trial.axes_[0].begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
  trial.axes_ = std::move(result);
  *this = std::move(trial);
  return true;
}

void AxisView::Regroup(const std::vector<std::vector<std::size_t>>& groups) {
  std::vector<Axis> regrouped;
  for (const auto& group : groups) {
    Axis& axis = regrouped.emplace_back();
    for (const std::size_t from : group) axis.insert(axis.end(), axes_[from].begin(), axes_[from].end());
  }
  axes_ = std::move(regrouped);
}

void AxisView::SplitAxis(std::size_t axis, std::size_t count) {
  const auto middle = axes_[axis].begin() + static_cast<std::ptrdiff_t>(count);
  Axis inner(middle, axes_[axis].end());
  axes_[axis].resize(count);
  axes_.insert(axes_.begin() + static_cast<std::ptrdiff_t>(axis) + 1, std::move(inner));
}

AxisView AxisView::Without(int piece, ValueId source) const {
  AxisView view = *this;
  view.source_ = source;
  const auto at = static_cast<std::size_t>(piece);
  Dim& shortened = view.source_dims_[view.pieces_[at].axis];
  shortened = FloorDiv(shortened, view.pieces_[at].size);
  view.pieces_.erase(view.pieces_.begin() + piece);
  for (Axis& axis : view.axes_) {
    std::erase(axis, piece);
    for (int& other : axis) other -= other > piece ? 1 : 0;
  }
  return view;
}

bool AxisView::ReadThrough(const AxisView& inner) {
  AxisView composed = inner;
  std::vector<Dim> sizes;
  for (const Piece& piece : pieces_) sizes.push_back(piece.size);
  if (!composed.Reshape(sizes)) return false;
  std::vector<std::vector<std::size_t>> groups;
  for (const Axis& axis : axes_) groups.emplace_back(axis.begin(), axis.end());
  composed.Regroup(groups);
  *this = std::move(composed);
  return true;
}

// Whole axes of the source in another order, then perhaps a Reshape.
std::optional<AxisView::Plan> AxisView::PlanByAxes(std::optional<std::size_t> authors_open) const {
  Plan plan;
  std::vector<std::int64_t> perm;
  std::vector<bool> placed(source_dims_.size(), false);
  int next_in_axis = -1;
  for (const Axis& axis : axes_) {
    if (axis.empty()) {  // a size of 1: one of the source's, if any is left
      for (std::size_t i = 0; i < placed.size(); ++i) {
        if (placed[i] || !IsOne(source_dims_[i])) continue;
        placed[i] = true;
        perm.push_back(static_cast<std::int64_t>(i));
        break;
      }
    }
    for (const int piece : axis) {
      const std::size_t from = pieces_[static_cast<std::size_t>(piece)].axis;
      if (!placed[from]) {
        if (!PlaceOf(piece).outermost) return std::nullopt;
        placed[from] = true;
        perm.push_back(static_cast<std::int64_t>(from));
      } else if (piece != next_in_axis || perm.back() != static_cast<std::int64_t>(from)) {
        return std::nullopt;
      }
      next_in_axis = piece + 1;
    }
  }
  for (std::size_t i = 0; i < placed.size(); ++i)
    if (!placed[i]) perm.push_back(static_cast<std::int64_t>(i));
  std::vector<Dim> dims;
  for (const std::int64_t from : perm) dims.push_back(source_dims_[static_cast<std::size_t>(from)]);
  std::vector<std::int64_t> moving;  // axes of size 1 do not move anything
  for (const std::int64_t from : perm)
    if (!IsOne(source_dims_[static_cast<std::size_t>(from)])) moving.push_back(from);
  if (std::is_sorted(moving.begin(), moving.end())) {
    dims = source_dims_;
  } else {
    plan.perm = std::move(perm);
  }
  const std::vector<Dim> wanted = Sizes();
  if (!SameDims(dims, wanted)) {
    plan.reshape_after = FindReshaping(dims, wanted, authors_open);
    if (!plan.reshape_after) return std::nullopt;
  }
  return plan;
}

// Pieces that stay together, and end up in one axis, move as one axis of a first Reshape.
std::optional<AxisView::Plan> AxisView::PlanByPieces(std::optional<std::size_t> authors_open) const {
  struct Group {
    int first;
    std::size_t final_axis;
    Dim size;
  };
  std::vector<Group> groups;  // in the final order
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].empty()) groups.push_back({static_cast<int>(pieces_.size()), i, Dim(1)});
    for (std::size_t j = 0; j < axes_[i].size(); ++j) {
      const int piece = axes_[i][j];
      const Dim& size = pieces_[static_cast<std::size_t>(piece)].size;
      if (j > 0 && axes_[i][j - 1] + 1 == piece) {
        groups.back().size = groups.back().size * size;
      } else {
        groups.push_back({piece, i, size});
      }
    }
  }
  std::vector<std::size_t> by_source(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) by_source[i] = i;
  std::stable_sort(by_source.begin(), by_source.end(),
                   [&](std::size_t a, std::size_t b) { return groups[a].first < groups[b].first; });
  Plan plan;
  std::vector<Dim> before, after;
  plan.perm.resize(groups.size());
  for (std::size_t i = 0; i < by_source.size(); ++i) {
    before.push_back(groups[by_source[i]].size);
    plan.perm[by_source[i]] = static_cast<std::int64_t>(i);
  }
  for (const Group& group : groups) after.push_back(group.size);
  if (!SameDims(source_dims_, before)) {
    plan.reshape_before = FindReshaping(source_dims_, before, std::nullopt);
    if (!plan.reshape_before) return std::nullopt;
  }
  const std::vector<Dim> wanted = Sizes();
  if (!SameDims(after, wanted)) {
    plan.reshape_after = FindReshaping(after, wanted, authors_open);
    if (!plan.reshape_after) return std::nullopt;
  }
  return plan;
}

bool AxisView::MovesNothing() const {
  int last = -1;
  for (const Axis& axis : axes_) {
    for (const int piece : axis) {
      if (piece < last) return false;
      last = piece;
    }
  }
  return true;
}

std::optional<AxisView::Plan> AxisView::MakePlan(std::optional<std::size_t> authors_open) const {
  std::optional<Plan> by_axes = PlanByAxes(authors_open);
  if (by_axes && by_axes->nodes() <= 1) return by_axes;
  if (MovesNothing()) {  // a Reshape that PlanByAxes could not write
    Plan plan;
    const std::vector<Dim> wanted = Sizes();
    if (!SameDims(source_dims_, wanted)) {
      plan.reshape_after = FindReshaping(source_dims_, wanted, authors_open);
      if (!plan.reshape_after) return std::nullopt;
    }
    return plan;
  }
  std::optional<Plan> by_pieces = PlanByPieces(authors_open);
  if (!by_pieces) return by_axes;
  return by_axes && by_axes->nodes() <= by_pieces->nodes() ? by_axes : by_pieces;
}

ValueId AxisView::Build(Rewrite& rewrite, const Plan& plan) const {
  ValueId at = source_;
  if (plan.reshape_before) at = plan.reshape_before->Build(rewrite, at);
  if (!plan.perm.empty()) at = rewrite.Add("Transpose", {at}, {{"perm", plan.perm}});
  if (plan.reshape_after) at = plan.reshape_after->Build(rewrite, at);
  return at;
}

}  // namespace sardonyx::optimizer
