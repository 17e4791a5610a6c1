// ops/attention/paged_cache.h - a cache of keys or values in blocks, [blocks, block size, heads, elements], whose rows
// may be quantized.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace sardonyx::ops {

// A row of all blocks, one behind the other, is a slot. Of quantized rows, numbers are elements times a scale; int4 is
// stored plus 8, two elements of 4 bits to a byte, low bits first.
struct PagedCache {
  DType element = DType::kFloat16;  // float16, bfloat16, int8, float8e4m3fn, int4 or float4e2m1
  bool per_channel = false;
  std::int64_t heads = 0;
  std::int64_t size = 0;          // elements of a head
  const float* scales = nullptr;  // one, or [heads, size] if per_channel; null if the elements are the numbers
  std::byte* data = nullptr;

  static bool IsQuantized(DType element) { return element != DType::kFloat16 && element != DType::kBFloat16; }
  static bool IsPacked(DType element) { return element == DType::kInt4 || element == DType::kFloat4E2M1; }
  // Elements that a head takes up: with an odd size, the last byte has room for one more.
  std::int64_t stored() const { return IsPacked(element) ? (size + 1) / 2 * 2 : size; }
  std::int64_t head_bytes() const;

  // Rounds to the nearest, ties to even, and saturates.
  void Store(std::int64_t slot, std::int64_t head, const float* x) const;
  // y[row, head, stored()]: the elements, not yet times their scales, of `rows` slots and the heads [first, end).
  void Load(std::int64_t slot, std::int64_t rows, std::int64_t first, std::int64_t end, float* y) const;
  // y[i] = x[i] * the scale of element i of a head, i < count. y may be x.
  void Scale(std::int64_t head, std::int64_t count, const float* x, float* y) const;
};

}  // namespace sardonyx::ops
