// ops/attention/heads.cpp - views of heads, and copies between them.
#include "ops/attention/heads.h"

#include <algorithm>

namespace sardonyx::ops {

constexpr std::int64_t kGrain = 16384;  // elements that are worth a thread

Heads LaidOut(const CacheAxes& axes, std::int64_t batch, std::int64_t heads, std::int64_t sequence, std::int64_t size) {
  const std::int64_t sizes[] = {batch, heads, sequence, size};
  std::int64_t strides[4] = {}, step = 1;
  for (std::size_t i = axes.size(); i-- > 0;) {
    const auto axis = static_cast<std::size_t>(axes[i]);
    strides[axis] = step;
    step *= sizes[axis];
  }
  return {batch, heads, sequence, size, {strides[0], strides[1], strides[2]}};
}

Heads BlocksOfHeads(std::int64_t batch, std::int64_t heads, std::int64_t sequence, std::int64_t size) {
  return {batch, heads, sequence, size, {heads * sequence * size, sequence * size, size}};
}

Heads RowsOfHeads(std::int64_t batch, std::int64_t sequence, std::int64_t heads, std::int64_t size, std::int64_t row) {
  return {batch, heads, sequence, size, {sequence * row, size, row}};
}

// NOLINTNEXTLINE(readability-function-size): two views and where they meet
void CopyHeads(const float* from, const Heads& source, const float* bias, float* to, const Heads& target,
               std::int64_t at, Parallel& parallel) {
  const std::int64_t size = source.size, rows = source.sequence;
  const bool whole = bias == nullptr && source.strides.row == size && target.strides.row == size;
  const auto copy = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t b = i / source.heads, h = i % source.heads;
      const float* x = from + source.Offset(b, h);
      float* y = to + target.Offset(b, h, at);
      if (whole) {
        std::copy_n(x, rows * size, y);
        continue;
      }
      for (std::int64_t r = 0; r < rows; ++r, x += source.strides.row, y += target.strides.row) {
        std::copy_n(x, size, y);
        if (bias == nullptr) continue;
        for (std::int64_t k = 0; k < size; ++k) y[k] += bias[h * size + k];
      }
    }
  };
  const std::int64_t items = source.batch * source.heads;
  if (items * rows * size < kGrain) return copy(0, items);
  parallel.For(items, std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, rows * size)), copy);
}

}  // namespace sardonyx::ops
