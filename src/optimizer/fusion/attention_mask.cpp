// optimizer/fusion/attention_mask.cpp - turns the steps of attention scores into one summand, the mask of an Attention
// node.
//
// Spellings differ in rows of which every key is masked. If these are filled with a finite number, all their scores are
// equal and the result is the mean of the values: the mask adds -1e30 there, or the number itself if that is even
// lower, so large that the scores themselves vanish. Two masks of the lowest number make -infinity together, as they do
// in the graph. If they are filled with -infinity, Softmax gives NaN where Attention gives zeros (ONNX, Attention): the
// mask gets NaN for such rows unless the graph turns them into zeros, too.
#include "optimizer/fusion/attention_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "optimizer/shapes/axis_view.h"
#include "optimizer/shapes/value_range.h"

namespace sardonyx::optimizer {
namespace {

constexpr double kVanishing = -1e30;    // hides scores up to 1e22; the lowest float stays finite when it is added
constexpr double kOverflowing = -1e38;  // two of about this size may have no finite sum

bool IsOne(const Dim& d) { return d.known() && d.number() == 1; }
bool SameLists(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), SameDim);
}

// Which side of two products to continue: the one that divides the other.
bool IsLess(const Dim& a, const Dim& b) {
  if (a.known() && b.known()) return a.number() < b.number();
  const Dim q = FloorDiv(b, a);
  return !q.unknown() && SameDim(q * a, b);
}

// Axes [i, i_end) of one shape are axes [j, j_end) of the other.
struct Segment {
  std::size_t i, i_end, j, j_end;
};

// Both shapes count the same elements in the same order: cuts them into segments of equal products.
std::optional<std::vector<Segment>> CutAlike(const std::vector<Dim>& a, const std::vector<Dim>& b) {
  std::vector<Segment> segments;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    Segment s{i, i, j, j};
    Dim left(1), right(1);
    do {
      const bool take_left =
          s.j_end == b.size() || (s.i_end < a.size() && (SameDim(left, right) || IsLess(left, right)));
      if (take_left) {
        if (s.i_end == a.size()) return std::nullopt;
        left = left * a[s.i_end++];
      } else {
        right = right * b[s.j_end++];
      }
    } while (!SameDim(left, right));
    segments.push_back(s);
    i = s.i_end;
    j = s.j_end;
  }
  return segments;
}

constexpr std::size_t kExpandedRank = 4;  // of a mask whose last axis is repeated for the keys

// Its last axis has `keys` elements.
ValueId WithKeys(Rewrite& rewrite, ValueId mask, ValueId keys) {
  const ValueId shape = rewrite.Add("Concat", {rewrite.Ints(std::vector<std::int64_t>(kExpandedRank - 1, 1)), keys},
                                    {{"axis", std::int64_t{0}}});
  return rewrite.Add("Expand", {mask, shape});
}

// A mask in float, in which numbers beyond half precision can be written. (double stays.)
ValueId Widened(Rewrite& rewrite, ValueId mask) {
  const DType dtype = rewrite.graph().value(mask).type.dtype;
  if (dtype != DType::kFloat16 && dtype != DType::kBFloat16) return mask;
  return rewrite.Add("Cast", {mask}, {{"to", static_cast<std::int64_t>(DType::kFloat)}});
}

// NaN in rows that are -infinity throughout.
ValueId WithUndefinedRows(Rewrite& rewrite, ValueId mask) {
  const ValueId largest = rewrite.Add("ReduceMax", {mask, rewrite.Ints({-1})}, {{"keepdims", std::int64_t{1}}});
  const ValueId empty = rewrite.Add("IsInf", {largest}, {{"detect_positive", std::int64_t{0}}});
  const DType dtype = rewrite.graph().value(mask).type.dtype;
  return rewrite.Add("Where", {empty, rewrite.Scalar(dtype, std::numeric_limits<double>::quiet_NaN()), mask});
}

}  // namespace

std::optional<MaskAlignment> AlignMask(const Graph& graph, const ScoreStep& step, const Scores& scores,
                                       const std::vector<Dim>& four) {
  const Type& type = graph.value(step.operand).type;
  const std::vector<Dim>& dims = step.dims;
  if (!type.is_tensor() || !type.has_rank || type.rank() > dims.size()) return std::nullopt;
  MaskAlignment alignment;
  if (dims.size() == 4 && SameLists(dims, four)) return alignment;
  const auto segments = CutAlike(dims, four);
  if (!segments) return std::nullopt;
  std::vector<Dim> mine(dims.size() - type.rank(), Dim(1));
  mine.insert(mine.end(), type.dims.begin(), type.dims.end());
  if (step.same_keys && type.rank() > 0) mine.back() = dims.back();
  std::vector<Dim> result, expanded = mine;
  for (const Segment& s : *segments) {
    bool any = false, all = true;
    for (std::size_t at = s.i; at < s.i_end; ++at) {
      if (IsOne(dims[at])) continue;
      const bool present = SameDim(mine[at], dims[at]);
      if (!present && !IsOne(mine[at])) return std::nullopt;
      any |= present;
      all &= present;
    }
    if (any && !all)
      for (std::size_t at = s.i; at < s.i_end; ++at) expanded[at] = dims[at];
    for (std::size_t at = s.j; at < s.j_end; ++at) result.push_back(any ? four[at] : Dim(1));
  }
  if (!SameLists(mine, expanded)) {
    std::vector<Dim> target = expanded;
    for (std::size_t i = 0; i < target.size(); ++i)
      if (SameDim(mine[i], expanded[i])) target[i] = Dim(1);  // Expand keeps what it is given
    const auto queries = AxisView::Trace(graph, graph.node(scores.product).inputs[0]);
    if (queries) alignment.expand = FindRunTimeShape(graph, queries->source(), target);
    // What gets its keys before has kExpandedRank axes.
    const bool widened = (step.keys != kNoValue || step.own_keys) && target.size() < kExpandedRank;
    if (!alignment.expand || widened) return std::nullopt;
  }
  // What is reshaped has the axes that broadcasting adds in front only where an Expand has put them there.
  if (!alignment.expand) {
    const std::size_t rank =
        std::max<std::size_t>(type.rank(), step.keys != kNoValue || step.own_keys ? kExpandedRank : 0);
    if (rank < expanded.size()) expanded.erase(expanded.begin(), expanded.end() - static_cast<std::ptrdiff_t>(rank));
    if (rank > expanded.size()) expanded.insert(expanded.begin(), rank - expanded.size(), Dim(1));
  }
  alignment.reshape = FindReshaping(expanded, result, std::nullopt);
  if (alignment.reshape) return alignment;
  // With as many keys as it has by itself, it may have the axes that are wanted; it gets the others behind them.
  const Segment& end = segments->back();
  const bool gets_keys = step.keys != kNoValue || step.own_keys;
  if (gets_keys && (alignment.expand || end.i + 1 != end.i_end || end.j + 1 != end.j_end)) return std::nullopt;
  if (gets_keys) result.back() = type.dims.back();
  alignment.keys_last = gets_keys;
  // Before the views that the graph puts the mask through, its axes may be where they are wanted.
  const auto view = AxisView::Trace(graph, step.operand);
  if (view && !alignment.expand && view->source() != step.operand && view->MovesNothing()) {
    alignment.reshape = FindReshaping(graph.value(view->source()).type.dims, result, std::nullopt);
    alignment.source = view->source();
    if (alignment.reshape) return alignment;
    alignment.source = kNoValue;
  }
  // The graph itself computes the shape of the scores.
  if (scores.target != kNoValue && SameLists(scores.target_dims, four) && SameLists(result, four)) {
    alignment.target = scores.target;
    return alignment;
  }
  alignment.run_time_reshape = FindRunTimeShape(graph, step.operand, result);
  return alignment.run_time_reshape ? std::optional(alignment) : std::nullopt;
}

bool CanBuildMask(const Graph& graph, const Scores& scores) {
  double factor = 1;  // of all that follows a step
  for (const ScoreStep& step : scores.steps) {
    if (!MasksScores(step) && step.kind != ScoreStep::Kind::kScale) continue;  // nearer to the product than any mask
    if (step.kind == ScoreStep::Kind::kScale) {
      factor *= step.factor;
      continue;
    }
    const Type& type = graph.value(step.operand).type;
    if (step.kind == ScoreStep::Kind::kFill && factor < 0) return false;
    if (step.kind == ScoreStep::Kind::kAdd && type.rank() == 0 &&
        (step.subtracts || MayBeNegativeInfinity(graph, step.operand)))
      return false;
  }
  return true;
}

BuiltMask BuildMask(Rewrite& rewrite, const Scores& scores, const std::vector<MaskAlignment>& alignments,
                    bool zero_rows) {
  BuiltMask built;
  ValueId& mask = built.mask;
  bool may_be_empty = false;
  const auto masks = std::count_if(scores.steps.begin(), scores.steps.end(), MasksScores);
  const auto aligned = [&](std::size_t i) {
    ValueId operand = scores.steps[i].operand;
    const MaskAlignment& alignment = alignments[i];
    if (alignment.source != kNoValue) operand = alignment.source;
    const ValueId keys = scores.steps[i].keys;
    if (keys != kNoValue && !alignment.keys_last) operand = WithKeys(rewrite, operand, keys);
    if (alignment.expand) operand = rewrite.Add("Expand", {operand, alignment.expand->Build(rewrite)});
    if (alignment.run_time_reshape) {
      const ValueId shape = alignment.run_time_reshape->Build(rewrite);
      operand = rewrite.Add("Reshape", {operand, shape}, {{"allowzero", std::int64_t{1}}});
    } else if (alignment.target != kNoValue) {
      operand = rewrite.Add("Reshape", {operand, alignment.target});
    } else if (alignment.reshape) {
      operand = alignment.reshape->Build(rewrite, operand);
    }
    return keys != kNoValue && alignment.keys_last ? WithKeys(rewrite, operand, keys) : operand;
  };
  for (std::size_t i = scores.steps.size(); i-- > 0;) {
    const ScoreStep& step = scores.steps[i];
    if (!MasksScores(step) && step.kind != ScoreStep::Kind::kScale) continue;  // the queries or the node have it
    if (step.kind == ScoreStep::Kind::kScale) {
      built.scale *= step.factor;
      const DType dtype = mask == kNoValue ? DType::kFloat : rewrite.graph().value(mask).type.dtype;
      if (mask != kNoValue) mask = rewrite.Add("Mul", {mask, rewrite.Scalar(dtype, step.factor)});
      continue;
    }
    ValueId operand = aligned(i);
    if (step.kind == ScoreStep::Kind::kAdd) {
      if (step.subtracts) operand = rewrite.Add("Neg", {operand});
      may_be_empty |= MayBeNegativeInfinity(rewrite.graph(), step.subtracts ? operand : step.operand);
      if (mask == kNoValue) {
        mask = operand;
        continue;
      }
      const bool alike = rewrite.graph().value(mask).type.dtype == rewrite.graph().value(operand).type.dtype;
      mask = alike ? rewrite.Add("Add", {mask, operand})
                   : rewrite.Add("Add", {Widened(rewrite, mask), Widened(rewrite, operand)});
      continue;
    }
    const double low = step.low;
    if (step.is_number) operand = rewrite.Add("Cast", {operand}, {{"to", static_cast<std::int64_t>(DType::kBool)}});
    may_be_empty |= std::isinf(low) && !step.zeroed;
    const DType dtype = step.dtype == DType::kDouble ? step.dtype : DType::kFloat;
    const bool absolute = step.zeroed || std::isinf(low);
    const double filled = absolute ? -std::numeric_limits<double>::infinity() : std::min(low, kVanishing);
    const ValueId fill = rewrite.Scalar(dtype, filled);
    may_be_empty |= filled < kOverflowing && masks > 1 && !step.zeroed;
    mask = mask == kNoValue ? rewrite.Scalar(dtype, 0) : Widened(rewrite, mask);
    mask =
        step.keep_if_true ? rewrite.Add("Where", {operand, mask, fill}) : rewrite.Add("Where", {operand, fill, mask});
  }
  if (mask != kNoValue && may_be_empty && !zero_rows) mask = WithUndefinedRows(rewrite, mask);
  return built;
}

}  // namespace sardonyx::optimizer
