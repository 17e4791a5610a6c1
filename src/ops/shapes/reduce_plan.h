// ops/shapes/reduce_plan.h - a reduction over any axes as loops: outputs, blocks of each output, and the block itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/shape.h"

namespace sardonyx::ops {

// Neighbouring axes of one kind are merged. What is left is
//   for every outer kept index (outer): for every outer reduced index (repeats): x[base][n, inner] -> y[outer][inner]
// where n is reduced and inner kept; inner = 1 for a reduction of contiguous rows.
struct ReducePlan {
  static constexpr std::size_t kMaxGroups = 32;
  struct Group {
    std::int64_t size = 1, stride = 0;
  };
  std::array<Group, kMaxGroups> kept, reduced;
  std::size_t kept_count = 0, reduced_count = 0;
  std::int64_t outer = 1, repeats = 1, n = 1, inner = 1;
  std::int64_t reduced_total = 1;  // elements that make one output

  std::int64_t KeptOffset(std::int64_t index) const { return Offset(kept, kept_count, index); }
  std::int64_t ReducedOffset(std::int64_t index) const { return Offset(reduced, reduced_count, index); }

 private:
  static std::int64_t Offset(const std::array<Group, kMaxGroups>& groups, std::size_t count, std::int64_t index) {
    std::int64_t offset = 0;
    for (std::size_t i = count; i-- > 0;) {
      offset += index % groups[i].size * groups[i].stride;
      index /= groups[i].size;
    }
    return offset;
  }
};

using ReducedAxes = std::array<bool, ReducePlan::kMaxGroups>;

// The flags of `axes`, or of all if `all`. Fails with kNotImplemented above rank 32.
ReducedAxes MarkAxes(std::span<const std::int64_t> axes, std::size_t rank, bool all = false);

// `is_reduced[i]`: whether axis i is. Fails with kNotImplemented above rank 32.
ReducePlan MakeReducePlan(Dims shape, const ReducedAxes& is_reduced);

}  // namespace sardonyx::ops
