// optimizer/fusion/padding_mask.cpp - recognizes the summand of attention scores that hides padding.
//
// Exporters write (1 - mask) * -10000, Where(mask, 0, lowest), Where(Not(mask), lowest, 0), with Casts and Unsqueezes
// anywhere between. Instead of a pattern for each, the formula is followed up to a value [batch, key] and computed for
// an element of zero and for one of one. torch's vmap spells mask[batch, key] as a Gather in the flattened mask, or as
// GatherND, with indices that count batches and keys, and puts conditions beside it that are always true.
#include "optimizer/fusion/padding_mask.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "optimizer/rules/rewrite.h"
#include "optimizer/shapes/position_factors.h"

namespace sardonyx::optimizer {
namespace {

constexpr int kDeepest = 24;          // nodes above one another
constexpr double kHides = -1000;      // a summand that leaves nothing of a score
constexpr std::size_t kMostAxes = 4;  // of the summand

bool IsOne(const Dim& d) { return d.known() && d.number() == 1; }

// What the formula gives where the mask is 0, and where it is 1. No mask: a constant.
struct Pair {
  ValueId mask = kNoValue;
  double zero = 0, one = 0;
};

class Formula {
 public:
  Formula(const Graph& graph, const Dim& batch, const Dim& keys) : graph_(graph), batch_(batch), keys_(keys) {}

  std::optional<Pair> Follow(ValueId value, int depth) const {
    if (value == kNoValue || depth > kDeepest) return std::nullopt;
    if (const auto number = ScalarOf(graph_, value)) return Pair{kNoValue, *number, *number};
    if (IsTrueThroughout(value)) return Pair{kNoValue, 1, 1};
    if (IsFalseThroughout(value, depth)) return Pair{kNoValue, 0, 0};
    if (IsMask(value)) return Pair{value, 0, 1};
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode || IsForeign(graph_.node(producer))) return std::nullopt;
    const Node& node = graph_.node(producer);
    if (!node.domain.empty()) return std::nullopt;
    if (const auto gathered = FollowGathered(node, TypeOf(value), depth)) return gathered;
    if (Is(node, "Expand") || Is(node, "Reshape") || Is(node, "Unsqueeze") || Is(node, "Identity"))
      return KeepsPlaces(node) ? Follow(node.inputs[0], depth + 1) : std::nullopt;
    std::vector<Pair> operands;
    for (const ValueId input : node.inputs) {
      const auto operand = Follow(input, depth + 1);
      if (!operand || (operand->mask != kNoValue && !HasRankOf(node.outputs[0], input))) return std::nullopt;
      operands.push_back(*operand);
    }
    return Combine(node, operands);
  }

 private:
  const Type& TypeOf(ValueId value) const { return graph_.value(value).type; }

  // Integers or booleans that no node of the formula makes of others.
  bool IsMask(ValueId value) const {
    const Type& type = TypeOf(value);
    if (graph_.value(value).initializer != nullptr || !type.is_tensor() || !type.has_rank || type.rank() != 2)
      return false;
    if (type.dtype != DType::kInt64 && type.dtype != DType::kInt32 && type.dtype != DType::kBool) return false;
    if (!SameDim(type.dims[0], batch_) || !SameDim(type.dims[1], keys_)) return false;
    const NodeId producer = graph_.value(value).producer;
    return producer == kNoNode || !Is(graph_.node(producer), "Cast");
  }

  // A constant of ones, or a count of places that is compared with zero.
  bool IsTrueThroughout(ValueId value) const {
    if (TypeOf(value).dtype != DType::kBool) return false;
    if (const Tensor* constant = graph_.value(value).constant()) {
      const auto elements = constant->span<bool>();
      return constant->count() > 1 && std::all_of(elements.begin(), elements.end(), [](bool each) { return each; });
    }
    const Node* compares = ProducerOf(graph_, value, "GreaterOrEqual");
    if (compares == nullptr || ScalarOf(graph_, compares->inputs[1]) != 0.0) return false;
    const auto factors = PositionFactors(graph_, compares->inputs[0]);
    return factors && std::all_of(factors->begin(), factors->end(),
                                  [](const Dim& each) { return each.known() && each.number() >= 0; });
  }

  // What asks for rows of -infinity, which fuse_attention turns into NaN: a mask of zeros and ones makes none where the
  // summand of each is finite.
  bool IsFalseThroughout(ValueId value, int depth) const {
    const Node* asks = ProducerOf(graph_, value, "IsInf");
    const Node* largest = asks == nullptr ? nullptr : ProducerOf(graph_, asks->inputs[0], "ReduceMax");
    if (largest == nullptr || TypeOf(largest->inputs[0]).dtype != DType::kFloat) return false;
    const auto summand = Follow(largest->inputs[0], depth + 1);
    const auto is_finite = [](double x) { return std::abs(x) <= std::numeric_limits<float>::max(); };
    return summand && is_finite(summand->zero) && is_finite(summand->one);
  }

  // Beside an operand of higher rank the first axis of a mask is not the batch.
  bool HasRankOf(ValueId value, ValueId operand) const {
    const Type &a = TypeOf(value), &b = TypeOf(operand);
    return a.has_rank && b.has_rank && a.rank() == b.rank();
  }

  // A value [batch, key].
  bool IsRow(const Type& type) const {
    return type.has_rank && type.rank() == 2 && SameDim(type.dims[0], batch_) && SameDim(type.dims[1], keys_);
  }
  // [batch, 1, ..., key].
  bool IsInPlace(const Type& type) const {
    if (!type.has_rank || type.rank() < 2 || type.rank() > kMostAxes) return false;
    for (std::size_t i = 1; i + 1 < type.rank(); ++i)
      if (!IsOne(type.dims[i])) return false;
    return SameDim(type.dims[0], batch_) && SameDim(type.dims.back(), keys_);
  }

  // Element [batch, key] of a mask, gathered; the axis of size 1 that is left of a flattened mask may be dropped
  // behind.
  std::optional<Pair> FollowGathered(const Node& node, const Type& type, int depth) const {
    if (!IsInPlace(type)) return std::nullopt;
    if (Is(node, "GatherND")) return FollowGatherNd(node, depth);
    const bool drops = Is(node, "Reshape") || Is(node, "Squeeze");
    const Node* gather = drops ? ProducerOf(graph_, node.inputs[0], "Gather") : Is(node, "Gather") ? &node : nullptr;
    if (gather == nullptr || IntAttribute(*gather, "axis", 0) != 0) return std::nullopt;
    const NodeId flattening = graph_.value(gather->inputs[0]).producer;
    if (flattening == kNoNode) return std::nullopt;
    const Node& flat = graph_.node(flattening);
    if ((!Is(flat, "Flatten") && !Is(flat, "Reshape")) || !IsRow(TypeOf(flat.inputs[0]))) return std::nullopt;
    const Type& flattened = TypeOf(gather->inputs[0]);
    if (!flattened.has_rank || flattened.rank() == 0 || !SameDim(flattened.dims[0], batch_ * keys_))
      return std::nullopt;
    const auto factors = PositionFactors(graph_, gather->inputs[1]);
    const Type& indices = TypeOf(gather->inputs[1]);
    if (!factors || !IsInPlace(indices)) return std::nullopt;
    const bool counts =
        (IsOne(batch_) || SameDim(factors->front(), keys_)) && (IsOne(keys_) || SameDim(factors->back(), Dim(1)));
    return counts ? Follow(flat.inputs[0], depth + 1) : std::nullopt;
  }

  std::optional<Pair> FollowGatherNd(const Node& node, int depth) const {
    const Tensor* indices = graph_.value(node.inputs[1]).constant();
    if (indices == nullptr || indices->dtype() != DType::kInt64 || IntAttribute(node, "batch_dims", 0) != 0 ||
        !IsRow(TypeOf(node.inputs[0])) || indices->shape().back() != 2)
      return std::nullopt;
    const Dims all = indices->shape(), shape = all.first(all.size() - 1);
    std::vector<std::int64_t> batches(shape.size(), 0), keys(shape.size(), 0);
    batches.front() = keys.back() = 1;
    const bool counts = FollowsFactors(*indices, 0, 2, shape, batches) && FollowsFactors(*indices, 1, 2, shape, keys);
    return counts ? Follow(node.inputs[0], depth + 1) : std::nullopt;
  }

  // The last axis stays the keys, and the first the batch.
  bool KeepsPlaces(const Node& node) const {
    const Type &from = TypeOf(node.inputs[0]), &to = TypeOf(node.outputs[0]);
    if (!from.has_rank || !to.has_rank || to.rank() > kMostAxes) return false;
    if (from.rank() == 0) return true;
    if (Is(node, "Expand") && from.rank() != to.rank()) return false;  // axes are added in front
    return from.rank() >= 2 && to.rank() >= 2 && SameDim(from.dims.back(), to.dims.back()) &&
           SameDim(from.dims[0], to.dims[0]);
  }

  static std::optional<double> Compute(const Node& node, const std::vector<double>& x) {
    if (x.size() == 1) {
      if (node.op_type == "Not") return x[0] == 0 ? 1 : 0;
      if (node.op_type == "Neg") return -x[0];
      if (node.op_type == "Cast") {
        const std::int64_t to = IntAttribute(node, "to", 0);
        if (to == static_cast<std::int64_t>(DType::kBool)) return x[0] != 0 ? 1 : 0;
        return x[0];
      }
    }
    if (x.size() == 2) {
      if (node.op_type == "Add") return x[0] + x[1];
      if (node.op_type == "Sub") return x[0] - x[1];
      if (node.op_type == "Mul") return x[0] * x[1];
      if (node.op_type == "Div" && x[1] != 0) return x[0] / x[1];
      if (node.op_type == "Equal") return x[0] == x[1] ? 1 : 0;
      if (node.op_type == "Greater") return x[0] > x[1] ? 1 : 0;
      if (node.op_type == "Less") return x[0] < x[1] ? 1 : 0;
      if (node.op_type == "Max") return std::max(x[0], x[1]);
      if (node.op_type == "Min") return std::min(x[0], x[1]);
      if (node.op_type == "And") return x[0] != 0 && x[1] != 0 ? 1 : 0;
      if (node.op_type == "Or") return x[0] != 0 || x[1] != 0 ? 1 : 0;
    }
    if (x.size() == 3 && node.op_type == "Where") return x[0] != 0 ? x[1] : x[2];
    return std::nullopt;
  }

  static std::optional<Pair> Combine(const Node& node, const std::vector<Pair>& operands) {
    Pair result;
    std::vector<double> zeros, ones;
    for (const Pair& operand : operands) {
      if (operand.mask != kNoValue) {
        if (result.mask != kNoValue && result.mask != operand.mask) return std::nullopt;
        result.mask = operand.mask;
      }
      zeros.push_back(operand.zero);
      ones.push_back(operand.one);
    }
    const auto zero = Compute(node, zeros), one = Compute(node, ones);
    if (!zero || !one) return std::nullopt;
    result.zero = *zero;
    result.one = *one;
    return result;
  }

  const Graph& graph_;
  const Dim &batch_, &keys_;
};

}  // namespace

std::optional<PaddingMask> FindPaddingMask(const Graph& graph, ValueId summand, const Dim& batch, const Dim& keys) {
  const Type& type = graph.value(summand).type;
  if (!type.is_tensor() || !type.has_rank || type.rank() != kMostAxes || !IsFloating(type.dtype)) return std::nullopt;
  if (!SameDim(type.dims[0], batch) || !SameDim(type.dims[3], keys)) return std::nullopt;
  const auto found = Formula(graph, batch, keys).Follow(summand, 0);
  if (!found || found->mask == kNoValue || found->one != 0 || !(found->zero <= kHides) || std::isinf(found->zero))
    return std::nullopt;
  return PaddingMask{found->mask, found->zero};
}

}  // namespace sardonyx::optimizer
