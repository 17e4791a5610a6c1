// optimizer/fusion/rotary_factors.cpp - finds out how each factor is written twice: by a table, by angles that are
// concatenated with themselves or repeated, or by elementwise functions of these.
#include "optimizer/fusion/rotary_factors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

namespace sardonyx::optimizer {
namespace {

constexpr int kDepth = 8;  // nodes between factors and their angles

bool IsLastAxis(const Node& node, std::size_t rank) {
  const std::int64_t axis = IntAttribute(node, "axis", 0);
  return axis == -1 || axis + 1 == static_cast<std::int64_t>(rank);
}

// Of a table's rows of 2 * half elements, each pair is the same twice.
bool RowsHaveEqualPairs(const Tensor& table, std::int64_t half, Pairing pairing) {
  const std::size_t element = ByteSize(table.dtype(), 1);
  const std::size_t span = pairing == Pairing::kHalves ? ByteSize(table.dtype(), half) : element;
  const auto* at = static_cast<const std::byte*>(table.raw());
  for (std::size_t i = 0; span > 0 && i < table.byte_size(); i += 2 * span)
    if (std::memcmp(at + i, at + i + span, span) != 0) return false;
  return true;
}

class FactorFinder {
 public:
  FactorFinder(const Graph& graph, std::int64_t half, Pairing pairing)
      : graph_(graph), half_(half), pairing_(pairing) {}

  // What a last axis of two equal elements is made of: the value whose last axis has one of them.
  ValueId Doubled(ValueId value) const {
    const NodeId producer = graph_.value(value).producer;
    const Type& type = TypeOf(value);
    if (producer == kNoNode || !graph_.node(producer).domain.empty() || !type.has_rank || type.rank() == 0)
      return kNoValue;
    const Node& node = graph_.node(producer);
    if (IsForeign(node)) return kNoValue;
    const Type& from = TypeOf(node.inputs[0]);
    if (!IsNumber(type.dims.back(), 2) || !from.has_rank || from.rank() != type.rank() ||
        !IsNumber(from.dims.back(), 1))
      return kNoValue;
    if (node.op_type == "Concat" && IsLastAxis(node, type.rank()))
      return node.inputs.size() == 2 && node.inputs[0] == node.inputs[1] ? node.inputs[0] : kNoValue;
    const bool repeats = node.op_type == "Expand" || (node.op_type == "Tile" && RepeatsLastAlone(node));
    const bool keeps = std::equal(from.dims.begin(), from.dims.end() - 1, type.dims.begin(), SameDim);
    return repeats && keeps ? node.inputs[0] : kNoValue;
  }

  // Both elements of each pair of the last axis are the same.
  bool HasEqualPairs(ValueId value, int depth = 0) const {
    const Type& type = TypeOf(value);
    if (!type.has_rank || type.rank() == 0 || !IsNumber(type.dims.back(), 2 * half_) || depth > kDepth) return false;
    if (const Tensor* table = graph_.value(value).constant()) return RowsHaveEqualPairs(*table, half_, pairing_);
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode || !graph_.node(producer).domain.empty()) return false;
    const Node& node = graph_.node(producer);
    if (IsForeign(node)) return false;
    const auto goes_on = [&](std::size_t i) { return HasEqualPairs(node.inputs[i], depth + 1); };
    if (node.op_type == "Concat" && IsLastAxis(node, type.rank()))
      return pairing_ == Pairing::kHalves && node.inputs.size() == 2 && node.inputs[0] == node.inputs[1];
    if (node.op_type == "Reshape") return IsOfDoubled(node) || (KeepsLastAxis(node) && goes_on(0));
    static constexpr std::array<std::string_view, 6> kRowByRow = {"Cast",   "Cos",     "Sin",
                                                                  "Expand", "Squeeze", "Unsqueeze"};
    if (std::find(kRowByRow.begin(), kRowByRow.end(), node.op_type) != kRowByRow.end()) return goes_on(0);
    if (node.op_type == "Mul")
      return (ScalarOf(graph_, node.inputs[1]) && goes_on(0)) || (ScalarOf(graph_, node.inputs[0]) && goes_on(1));
    const std::size_t rank = TypeOf(node.inputs[0]).rank();
    if (node.op_type == "Gather") return rank > 1 && !IsLastAxis(node, rank) && goes_on(0);
    const auto axis = node.op_type == "Slice" && node.inputs.size() > 3 ? IntsOf(graph_, node.inputs[3]) : std::nullopt;
    return axis && axis->size() == 1 && axis->front() != -1 && axis->front() + 1 != static_cast<std::int64_t>(rank) &&
           goes_on(0);
  }

 private:
  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }
  static bool IsNumber(const Dim& d, std::int64_t number) { return d.known() && d.number() == number; }

  bool RepeatsLastAlone(const Node& tile) const {
    const auto repeats = IntsOf(graph_, tile.inputs[1]);
    return repeats && !repeats->empty() && repeats->back() == 2 &&
           std::all_of(repeats->begin(), repeats->end() - 1, [](std::int64_t r) { return r == 1; });
  }
  // [.., half, 2] as [.., 2 * half], or as halves [.., 2, half] likewise.
  bool IsOfDoubled(const Node& reshape) const {
    return pairing_ == Pairing::kNeighbours && Doubled(reshape.inputs[0]) != kNoValue;
  }
  bool KeepsLastAxis(const Node& reshape) const {
    const Type& from = TypeOf(reshape.inputs[0]);
    return from.has_rank && from.rank() > 0 && IsNumber(from.dims.back(), 2 * half_);
  }

  const Graph& graph_;
  std::int64_t half_;
  Pairing pairing_;
};

}  // namespace

std::optional<RotaryFactors> FindRotaryFactors(const Graph& graph, ValueId value, std::int64_t half, Pairing pairing,
                                               bool heads_last) {
  auto view = AxisView::Trace(graph, value);
  const std::size_t heads = heads_last ? 2 : 1, row = heads_last ? 1 : 2;
  if (!view || view->rank() != 4 || !view->axis(heads).empty()) return std::nullopt;
  const FactorFinder finder(graph, half, pairing);
  const AxisView::Axis& last = view->axis(3);
  const std::size_t source_rank = graph.value(view->source()).type.rank();
  bool halved = SameDim(view->SizeOf(last), Dim(half));
  if (halved) {
    // each pair has one factor already
  } else if (const ValueId once = finder.Doubled(view->source());
             once != kNoValue && pairing == Pairing::kNeighbours && !last.empty() &&
             view->PlaceOf(last.back()).axis + 1 == source_rank && SameDim(view->SizeOf({last.back()}), Dim(2))) {
    *view = view->Without(last.back(), once);
    const auto inner = AxisView::Trace(graph, once);
    if (inner && !view->ReadThrough(*inner)) return std::nullopt;
    halved = true;
  } else if (!finder.HasEqualPairs(view->source())) {
    return std::nullopt;
  }
  view->Regroup({{0}, {row}, {3}});
  const std::vector<Dim> sizes = view->Sizes();
  auto plan = view->MakePlan();
  if (!plan || plan->transposes() != 0 || !SameDim(sizes[2], Dim(halved ? half : 2 * half))) return std::nullopt;
  return RotaryFactors{std::move(*view), std::move(*plan), halved, sizes[0], sizes[1]};
}

ValueId BuildRotaryFactors(Rewrite& rewrite, const RotaryFactors& factors, std::int64_t half, Pairing pairing) {
  const ValueId built = factors.view.Build(rewrite, factors.plan);
  if (factors.halved) return built;
  if (pairing == Pairing::kHalves)
    return rewrite.Add("Slice", {built, rewrite.Ints({0}), rewrite.Ints({half}), rewrite.Ints({2})});
  return rewrite.Add("Slice", {built, rewrite.Ints({0}), rewrite.Ints({std::numeric_limits<std::int64_t>::max()}),
                               rewrite.Ints({2}), rewrite.Ints({2})});
}

}  // namespace sardonyx::optimizer
