// kernels/region/roi_align.cpp - computes the weights of an axis, and dispatches to roi_align.isa.cpp.
#include "kernels/region/roi_align.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace sardonyx::kernels {
namespace {

constexpr Variant<AlignPlaneFn> kVariants[] = {SDX_VARIANTS(AlignPlane)};

std::int64_t Rounded(std::int64_t bytes) { return (bytes + 63) / 64 * 64; }
std::int64_t IndexBytes(std::int64_t bins, std::int64_t size) {
  return Rounded(bins * (size + 1) * static_cast<std::int64_t>(sizeof(std::int64_t)));
}

// The pixels around position v of an axis and the weight of the upper one; false outside of the image.
bool Neighbours(double v, std::int64_t size, std::int64_t& low, std::int64_t& high, double& upper) {
  if (!(v >= -1 && v <= static_cast<double>(size))) return false;
  v = std::max(v, 0.0);
  low = std::min(static_cast<std::int64_t>(v), size - 1);
  high = std::min(low + 1, size - 1);
  upper = low == size - 1 ? 0 : v - static_cast<double>(low);
  return true;
}

// Adds to the weight of a pixel of bin i. Positions are in order, so a pixel seen before is among the last ones.
void AddWeight(const AlignAxis& axis, std::int64_t i, std::int64_t pixel, double value) {
  std::int64_t* index = axis.index + i * axis.size;
  float* weight = axis.weight + i * axis.size;
  for (std::int64_t t = axis.count[i]; t-- > 0;) {
    if (index[t] != pixel) continue;
    weight[t] += static_cast<float>(value);
    return;
  }
  index[axis.count[i]] = pixel;
  weight[axis.count[i]++] = static_cast<float>(value);
}

}  // namespace

SampleRange SamplesInside(double start, double step, std::int64_t samples, std::int64_t size) {
  const double first = (-1 - start) / step, last = (static_cast<double>(size) - start) / step;
  const double low = std::min(first, last), high = std::max(first, last);
  if (!std::isfinite(low) || !std::isfinite(high)) return {0, samples};
  // Two more at each end: these quotients are rounded, and who asks looks at each position again.
  const auto most = static_cast<double>(samples);
  return {static_cast<std::int64_t>(std::clamp(std::floor(low) - 2, 0.0, most)),
          static_cast<std::int64_t>(std::clamp(std::ceil(high) + 2, 0.0, most))};
}

std::int64_t AlignAxisBytes(std::int64_t bins, std::int64_t size) {
  return IndexBytes(bins, size) + Rounded(bins * size * static_cast<std::int64_t>(sizeof(float)));
}

AlignAxis MakeAlignAxis(std::int64_t bins, std::int64_t size, std::byte* memory) {
  auto* const count = reinterpret_cast<std::int64_t*>(memory);
  return {bins, size, count, count + bins, reinterpret_cast<float*>(memory + IndexBytes(bins, size))};
}

void FillAlignAxis(double start, double bin, std::int64_t samples, const AlignAxis& axis) {
  const double part = samples > 0 ? 1 / static_cast<double>(samples) : 0;
  for (std::int64_t i = 0; i < axis.bins; ++i) {
    axis.count[i] = 0;
    const SampleRange inside = SamplesInside(start + static_cast<double>(i) * bin, part * bin, samples, axis.size);
    for (std::int64_t s = inside.begin; s < inside.end; ++s) {
      std::int64_t low, high;
      double upper;
      const double v = start + (static_cast<double>(i) + (static_cast<double>(s) + 0.5) * part) * bin;
      if (!Neighbours(v, axis.size, low, high, upper)) continue;
      AddWeight(axis, i, low, (1 - upper) * part);
      if (upper > 0) AddWeight(axis, i, high, upper * part);
    }
  }
}

AlignPlaneFn* AlignPlaneFunction(Isa isa) { return Best(kVariants, isa); }

}  // namespace sardonyx::kernels
