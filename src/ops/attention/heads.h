// ops/attention/heads.h - tensors of attention as [batch, heads, sequence, size] with strides, and caches of keys and
// values.
#pragma once

#include <array>
#include <cstdint>

#include "base/parallel.h"
#include "base/shape.h"
#include "kernels/attention/attention.h"

namespace sardonyx::ops {

// p + n. Tensors without elements have no address.
template <typename T>
T* Behind(T* p, std::int64_t n) {
  return p == nullptr ? nullptr : p + n;
}

struct Heads {
  std::int64_t batch = 0, heads = 0, sequence = 0, size = 0;
  kernels::HeadStrides strides;

  std::int64_t Offset(std::int64_t b, std::int64_t h, std::int64_t row = 0) const {
    return b * strides.batch + h * strides.head + row * strides.row;
  }
  std::int64_t count() const { return batch * heads * sequence * size; }
};

// The axes of a cache, outermost first: 0 is batch, 1 heads, 2 sequence, 3 size, which is the last one.
using CacheAxes = std::array<std::int64_t, 4>;
inline constexpr CacheAxes kBlocksOfHeads = {0, 1, 2, 3};

// A tensor with these axes.
Heads LaidOut(const CacheAxes& axes, std::int64_t batch, std::int64_t heads, std::int64_t sequence, std::int64_t size);
// A tensor [batch, heads, sequence, size].
Heads BlocksOfHeads(std::int64_t batch, std::int64_t heads, std::int64_t sequence, std::int64_t size);
// Part of a tensor [batch, sequence, row]: heads of `size` elements, one behind the other.
Heads RowsOfHeads(std::int64_t batch, std::int64_t sequence, std::int64_t heads, std::int64_t size, std::int64_t row);

// to[b, h, at + s] = from[b, h, s] + bias[h * size ...] (bias may be null). The two must not overlap.
void CopyHeads(const float* from, const Heads& source, const float* bias, float* to, const Heads& target,
               std::int64_t at, Parallel& parallel);

}  // namespace sardonyx::ops
