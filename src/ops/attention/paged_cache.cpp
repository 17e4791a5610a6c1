// ops/attention/paged_cache.cpp - converts rows of a cache in blocks from and to floats.
#include "ops/attention/paged_cache.h"

#include <algorithm>

#include "base/small_float.h"
#include "kernels/elementwise/convert.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kChunk = 64;  // elements that are scaled before they are rounded; even, as pairs share a byte

// To the nearest, ties to even. NaN, which has no integer, becomes `least`.
int Rounded(float x, float least, float most) {
  constexpr float kNoFraction = 12582912;  // numbers of this size have none, so the sum is rounded
  x = x > least ? x : least;
  x = x < most ? x : most;
  return static_cast<int>((x + kNoFraction) - kNoFraction);
}

void StoreInt4(const float* x, std::int64_t count, std::byte* to) {
  for (std::int64_t i = 0; i < count; i += 2) {
    const int low = Rounded(x[i], -8, 7) + 8, high = i + 1 < count ? Rounded(x[i + 1], -8, 7) + 8 : 8;
    to[i / 2] = static_cast<std::byte>(low | high << 4);
  }
}

void LoadFloat4(const std::byte* from, std::int64_t bytes, float* y) {
  float numbers[16];
  for (std::uint8_t i = 0; i < 16; ++i) numbers[i] = Float4ToFloat(i);
  for (std::int64_t i = 0; i < bytes; ++i) {
    const auto both = static_cast<unsigned>(from[i]);
    y[2 * i] = numbers[both & 15];
    y[2 * i + 1] = numbers[both >> 4];
  }
}

void LoadInt4(const std::byte* from, std::int64_t bytes, float* y) {
  for (std::int64_t i = 0; i < bytes; ++i) {
    const int both = static_cast<int>(from[i]);
    y[2 * i] = static_cast<float>((both & 15) - 8);
    y[2 * i + 1] = static_cast<float>((both >> 4) - 8);
  }
}

}  // namespace

std::int64_t PagedCache::head_bytes() const { return static_cast<std::int64_t>(ByteSize(element, stored())); }

void PagedCache::Store(std::int64_t slot, std::int64_t head, const float* x) const {
  std::byte* to = data + (slot * heads + head) * head_bytes();
  if (scales == nullptr) return kernels::FromFloats(element)(x, static_cast<std::size_t>(size), to, 0);
  const float* scale = scales + (per_channel ? head * size : 0);
  float scaled[kChunk];
  for (std::int64_t at = 0; at < size; at += kChunk) {
    const std::int64_t count = std::min(kChunk, size - at);
    for (std::int64_t i = 0; i < count; ++i) {
      const float s = scale[per_channel ? at + i : 0];
      scaled[i] = s == 0 ? 0 : x[at + i] * (1 / s);  // as ONNX Runtime rounds: times the reciprocal
    }
    if (element == DType::kInt8) {
      for (std::int64_t i = 0; i < count; ++i) to[at + i] = static_cast<std::byte>(Rounded(scaled[i], -128, 127));
    } else if (element == DType::kInt4) {
      StoreInt4(scaled, count, to + at / 2);
    } else {
      kernels::FromFloats(element)(scaled, static_cast<std::size_t>(count), to, at);
    }
  }
}

void PagedCache::Load(std::int64_t slot, std::int64_t rows, std::int64_t first, std::int64_t end, float* y) const {
  const bool whole = end - first == heads;  // then rows follow each other, here and there
  const std::int64_t pieces = whole ? 1 : rows, count = (whole ? rows : 1) * (end - first) * stored();
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::byte* from = data + ((slot + i) * heads + first) * head_bytes();
    if (element == DType::kInt4) {
      LoadInt4(from, count / 2, y + i * count);
    } else if (element == DType::kFloat4E2M1) {
      LoadFloat4(from, count / 2, y + i * count);
    } else {
      kernels::ToFloats(element)(from, 0, static_cast<std::size_t>(count), y + i * count);
    }
  }
}

void PagedCache::Scale(std::int64_t head, std::int64_t count, const float* x, float* y) const {
  if (!per_channel) {
    const float scale = scales[0];
    for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * scale;
    return;
  }
  const float* scale = scales + head * size;
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * scale[i];
}

}  // namespace sardonyx::ops
