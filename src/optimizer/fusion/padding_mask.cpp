// optimizer/fusion/padding_mask.cpp - recognizes the summand of attention scores that hides padding.
//
// Exporters write (1 - mask) * -10000, Where(mask, 0, lowest), Where(Not(mask), lowest, 0), with Casts and Unsqueezes
// anywhere between. Instead of a pattern for each, the formula is followed up to a value [batch, key] and computed for
// an element of zero and for one of one.
#include "optimizer/fusion/padding_mask.h"

#include <algorithm>
#include <cmath>

#include "optimizer/rules/rewrite.h"
#include "optimizer/shapes/axis_view.h"

namespace sardonyx::optimizer {
namespace {

constexpr int kDeepest = 24;          // nodes above one another
constexpr double kHides = -1000;      // a summand that leaves nothing of a score
constexpr std::size_t kMostAxes = 4;  // of the summand

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
    if (IsMask(value)) return Pair{value, 0, 1};
    const NodeId producer = graph_.value(value).producer;
    if (producer == kNoNode || IsForeign(graph_.node(producer))) return std::nullopt;
    const Node& node = graph_.node(producer);
    if (!node.domain.empty()) return std::nullopt;
    if (Is(node, "Expand") || Is(node, "Reshape") || Is(node, "Unsqueeze") || Is(node, "Identity"))
      return KeepsPlaces(node) ? Follow(node.inputs[0], depth + 1) : std::nullopt;
    std::vector<Pair> operands;
    for (const ValueId input : node.inputs) {
      const auto operand = Follow(input, depth + 1);
      if (!operand) return std::nullopt;
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

  // The last axis stays the keys, and the first the batch.
  bool KeepsPlaces(const Node& node) const {
    const Type &from = TypeOf(node.inputs[0]), &to = TypeOf(node.outputs[0]);
    if (!from.has_rank || !to.has_rank || to.rank() > kMostAxes) return false;
    if (from.rank() == 0) return true;
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
