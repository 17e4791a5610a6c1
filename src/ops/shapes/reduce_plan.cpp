// ops/shapes/reduce_plan.cpp - merges the axes of a reduction.
#include "ops/shapes/reduce_plan.h"

#include <limits>

#include "base/error.h"

namespace sardonyx::ops {

static void CheckRank(std::size_t rank) {
  if (rank > ReducePlan::kMaxGroups)
    Fail(Code::kNotImplemented, "expected a rank of at most ", ReducePlan::kMaxGroups, ", found rank ", rank);
}

ReducedAxes MarkAxes(std::span<const std::int64_t> axes, std::size_t rank, bool all) {
  CheckRank(rank);
  ReducedAxes flags = {};
  if (all) flags.fill(true);
  for (const std::int64_t axis : axes) flags[NormalizeAxis(axis, rank)] = true;
  return flags;
}

// Sizes of tensors without elements may say more than 64 bits hold; nothing is addressed by them.
static std::int64_t LimitedProduct(std::int64_t a, std::int64_t b) {
  std::int64_t product;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

ReducePlan MakeReducePlan(Dims shape, const ReducedAxes& is_reduced) {
  CheckRank(shape.size());
  struct Merged {
    std::int64_t size, stride;
    bool reduced;
  };
  std::array<Merged, ReducePlan::kMaxGroups> groups;  // from the last axis
  std::size_t count = 0;
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1) {
      if (count > 0 && groups[count - 1].reduced == is_reduced[i]) {
        groups[count - 1].size = LimitedProduct(groups[count - 1].size, shape[i]);
      } else {
        groups[count++] = {shape[i], stride, is_reduced[i]};
      }
    }
    stride = LimitedProduct(stride, shape[i]);
  }
  ReducePlan plan;
  std::size_t at = 0;
  if (at < count && !groups[at].reduced) plan.inner = groups[at++].size;
  if (at < count && groups[at].reduced) plan.n = groups[at++].size;
  plan.reduced_total = plan.n;
  for (std::size_t i = count; i-- > at;) {
    const Merged& g = groups[i];
    if (g.reduced) {
      plan.reduced[plan.reduced_count++] = {g.size, g.stride};
      plan.repeats = LimitedProduct(plan.repeats, g.size);
      plan.reduced_total = LimitedProduct(plan.reduced_total, g.size);
    } else {
      plan.kept[plan.kept_count++] = {g.size, g.stride};
      plan.outer = LimitedProduct(plan.outer, g.size);
    }
  }
  return plan;
}

}  // namespace sardonyx::ops
