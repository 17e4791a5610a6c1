// ops/math/tape_walk.h - the order in which ai.sardonyx.FusedElementwise goes through its inputs and its output.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/fused_elementwise.h"
#include "ops/infer.h"
#include "ops/kernel_context.h"

namespace sardonyx::ops {

inline constexpr std::int64_t kTapeBlock = 512;  // elements that all steps take at a time
inline constexpr std::size_t kMostPeriodic = 2;  // inputs that short rows repeat

// Elements of each input, and of the output behind them.
using Places = std::array<std::int64_t, kMaxTapeInputs + 1>;

// The output's axes, neighbours joined where all tensors go on alike, innermost first.
struct TapeWalk {
  std::size_t rank = 0;
  // The first `rank` are set; clearing all would take longer than a small run.
  std::array<std::int64_t, kMostDimensions> sizes;
  std::array<Places, kMostDimensions> strides;
  // Rows of a few elements that follow each other are joined as well, where an input is the same in all of them (gates
  // and biases of channels that lie last): a step's function would otherwise be called for a few elements at a time.
  // Such an input is written out for a block; its stride along the joined axis means nothing.
  std::int64_t period = 0;                               // elements of such a row; 0: none are joined
  std::array<std::int8_t, kMaxTapeInputs + 1> periodic;  // which of those an input is, from 0 on, or -1
};

// Fails with kInvalidArgument where an input does not broadcast to the output.
TapeWalk PlanTapeWalk(KernelContext& c, std::size_t inputs);

}  // namespace sardonyx::ops
