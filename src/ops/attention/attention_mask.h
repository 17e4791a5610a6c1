// ops/attention/attention_mask.h - turns the integer masks of com.microsoft's attention operators into an addend to the
// scores.
#pragma once

#include <cstdint>

#include "kernels/attention/attention.h"
#include "ops/kernel_context.h"

namespace sardonyx::ops {

// What a mask is about.
struct MaskedScores {
  std::int64_t batch = 0, queries = 0, keys = 0;
  float filter = -10000;  // added where the mask hides a key
};

// Elements of the addend of a mask of int32. Shapes: [batch] lengths, [2 * batch] ends then starts, [3 * batch + 2]
// with lengths in front, [batch, keys] and [batch, queries, keys] of 0 (hidden) and others. Fails for other shapes.
std::int64_t MaskAddendCount(const TensorRef& mask, const MaskedScores& scores);

// Fills `addend` (MaskAddendCount elements) and returns it with its strides.
kernels::ScoreBias MaskAddend(const TensorRef& mask, const MaskedScores& scores, float* addend);

// An addend [batch or 1, heads or 1, queries, keys] as it is; fails for other shapes.
kernels::ScoreBias BroadcastAddend(Dims shape, const float* data, std::int64_t heads, const MaskedScores& scores);

}  // namespace sardonyx::ops
