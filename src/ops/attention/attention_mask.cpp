// ops/attention/attention_mask.cpp - turns lengths, starts and raw masks of keys into numbers to add to the scores.
#include "ops/attention/attention_mask.h"

#include <algorithm>

namespace sardonyx::ops {
namespace {

[[noreturn]] void FailShape(Dims found, const MaskedScores& s) {
  Fail(Code::kInvalidArgument, "expected a mask [", s.batch, "], [", 2 * s.batch, "], [", 3 * s.batch + 2, "], [",
       s.batch, ", ", s.keys, "] or [", s.batch, ", ", s.queries, ", ", s.keys, "], found ", ToText(found));
}

// Lengths of the keys, and where they begin.
bool IsLengths(const TensorRef& mask, const MaskedScores& s) {
  return mask.rank() == 1 && (mask.dim(0) == s.batch || mask.dim(0) == 2 * s.batch || mask.dim(0) == 3 * s.batch + 2);
}

}  // namespace

std::int64_t MaskAddendCount(const TensorRef& mask, const MaskedScores& s) {
  if (mask.dtype != DType::kInt32) Fail(Code::kInvalidArgument, "expected a mask of int32, found ", Name(mask.dtype));
  if (IsLengths(mask, s)) return s.batch * s.keys;
  const std::int64_t two[] = {s.batch, s.keys}, three[] = {s.batch, s.queries, s.keys};
  if (!Shape::Equal(mask.shape, two) && !Shape::Equal(mask.shape, three)) FailShape(mask.shape, s);
  return mask.count;
}

kernels::ScoreBias MaskAddend(const TensorRef& mask, const MaskedScores& s, float* addend) {
  const auto* from = mask.As<const std::int32_t>();
  if (IsLengths(mask, s)) {
    std::fill_n(addend, s.batch * s.keys, 0.0f);
    for (std::int64_t b = 0; b < s.batch; ++b) {
      float* row = addend + b * s.keys;
      const std::int64_t end = std::clamp<std::int64_t>(from[b], 0, s.keys);
      std::fill(row + end, row + s.keys, s.filter);
      if (mask.dim(0) == 2 * s.batch) {
        std::fill_n(row, std::clamp<std::int64_t>(from[s.batch + b], 0, s.keys), s.filter);
      }
    }
    return {addend, s.keys, 0, 0};
  }
  for (std::int64_t i = 0; i < mask.count; ++i) addend[i] = from[i] > 0 ? 0.0f : s.filter;
  if (mask.rank() == 2) return {addend, s.keys, 0, 0};
  return {addend, s.queries * s.keys, 0, s.keys};
}

kernels::ScoreBias BroadcastAddend(Dims shape, const float* data, std::int64_t heads, const MaskedScores& s) {
  const bool fits = shape.size() == 4 && (shape[0] == 1 || shape[0] == s.batch) &&
                    (shape[1] == 1 || shape[1] == heads) && shape[2] == s.queries && shape[3] == s.keys;
  if (!fits) {
    Fail(Code::kInvalidArgument, "expected an attention_bias [1 or ", s.batch, ", 1 or ", heads, ", ", s.queries, ", ",
         s.keys, "], found ", ToText(shape));
  }
  const std::int64_t matrix = s.queries * s.keys;
  return {data, shape[0] == 1 ? 0 : shape[1] * matrix, shape[1] == 1 ? 0 : matrix, s.keys};
}

}  // namespace sardonyx::ops
