// ops/attention/quantized_cache.cpp - converts rows of floats to and from the integers of a cache.
#include "ops/attention/quantized_cache.h"

#include <algorithm>
#include <cmath>

namespace sardonyx::ops {

int QuantizedCache::Rounded(std::int64_t head, const float* x, std::int64_t i) const {
  const float s = scales[per_channel ? head * size + i : 0];
  const float least = bits == 8 ? -128.0f : -8.0f, most = bits == 8 ? 127.0f : 7.0f;
  // fmax and fmin give the bound for NaN, which has no integer.
  return static_cast<int>(std::nearbyint(std::fmin(most, std::fmax(least, s == 0 ? 0 : x[i] / s))));
}

void QuantizedCache::Round(std::int64_t head, float* x) const {
  for (std::int64_t i = 0; i < size; ++i)
    x[i] = static_cast<float>(Rounded(head, x, i)) * scales[per_channel ? head * size + i : 0];
}

void QuantizedCache::Store(std::int64_t head, const float* x, std::byte* to) const {
  if (bits == 8) {
    for (std::int64_t i = 0; i < size; ++i) to[i] = static_cast<std::byte>(Rounded(head, x, i));
    return;
  }
  for (std::int64_t i = 0; i < size; i += 2) {
    const int low = Rounded(head, x, i) + 8, high = i + 1 < size ? Rounded(head, x, i + 1) + 8 : 8;
    to[i / 2] = static_cast<std::byte>(low | high << 4);
  }
}

void QuantizedCache::Load(std::int64_t head, const std::byte* from, float* y) const {
  const float* scale = scales + (per_channel ? head * size : 0);
  for (std::int64_t i = 0; i < size; ++i) {
    const float s = scale[per_channel ? i : 0];
    const int value =
        bits == 8 ? static_cast<std::int8_t>(from[i]) : (static_cast<int>(from[i / 2]) >> (i % 2 * 4) & 15) - 8;
    y[i] = static_cast<float>(value) * s;
  }
}

}  // namespace sardonyx::ops
