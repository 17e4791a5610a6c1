// kernels/copy/strided_copy.h - copies a box of elements between two strided layouts. Transpose, Slice, Concat, Split,
// Expand, Tile, Pad and DepthToSpace all use it.
#pragma once

#include <cstdint>

#include "base/dtype.h"
#include "base/parallel.h"

namespace sardonyx::kernels {

// The loops of a copy, outermost first. Strides are in elements; `from` may be 0 (repeat) or negative (reverse), and
// the destinations of all iterations must differ. Best in the order of the destination's memory.
struct StridedLoops {
  static constexpr int kMaxRank = 64;
  int rank = 0;
  std::int64_t size[kMaxRank];
  std::int64_t from[kMaxRank];
  std::int64_t to[kMaxRank];

  // False if there are more than kMaxRank loops. Loops of one iteration are dropped.
  bool Add(std::int64_t size, std::int64_t from, std::int64_t to);
};

// to[to_offset + i·to_strides] = from[from_offset + i·from_strides] for every i in the box. Source and destination do
// not overlap. Elements of any type; those under a byte and strings are moved on one thread.
void StridedCopy(DType dtype, StridedLoops loops, const void* from, std::int64_t from_offset, void* to,
                 std::int64_t to_offset, Parallel& parallel);

// to[at..at+n) = from[begin..begin+n), of any type; not overlapping.
void CopyElements(DType dtype, const void* from, std::int64_t begin, void* to, std::int64_t at, std::int64_t n);

// to[at..at+n) = value[index], of any type.
void FillElements(DType dtype, const void* value, std::int64_t index, void* to, std::int64_t at, std::int64_t n);

// All bytes of a tensor of `count` elements, in parallel where it is worth it.
void CopyAll(DType dtype, const void* from, void* to, std::int64_t count, Parallel& parallel);

}  // namespace sardonyx::kernels
