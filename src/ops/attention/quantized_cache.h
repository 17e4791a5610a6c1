// ops/attention/quantized_cache.h - rows of keys and values that a cache stores as signed integers of 8 or 4 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sardonyx::ops {

// Numbers are integers times a scale. 4 bits: two to a byte, low bits first, stored plus 8.
struct QuantizedCache {
  int bits = 8;
  std::int64_t size = 0;          // elements of a row
  const float* scales = nullptr;  // one, or [heads, size]
  bool per_channel = false;

  std::int64_t row_bytes() const { return bits == 8 ? size : (size + 1) / 2; }
  // Rounds to the nearest, ties to even; saturates.
  void Store(std::int64_t head, const float* x, std::byte* to) const;
  void Load(std::int64_t head, const std::byte* from, float* y) const;
  // What Store and Load give.
  void Round(std::int64_t head, float* x) const;

 private:
  int Rounded(std::int64_t head, const float* x, std::int64_t i) const;
};

}  // namespace sardonyx::ops
