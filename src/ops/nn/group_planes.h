// ops/nn/group_planes.h - group normalization of channels-first images, in float and in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/parallel.h"
#include "kernels/norm/affine_f32.h"
#include "ops/nn/row_statistics.h"

namespace sardonyx::ops {

inline void Affine(const float* x, std::int64_t n, float mean, float scale, float bias, float* y) {
  kernels::AffineF32().scalar(x, n, mean, scale, bias, y);
}
inline void Affine(const double* x, std::int64_t n, double mean, double scale, double bias, double* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale + bias;
}

template <typename T>
struct GroupPlanes {
  std::int64_t batch = 0, channels = 0, pixels = 0, groups = 1;  // none is 0, and groups divides channels
  double epsilon = 1e-5;
  bool per_group = false;  // one scale and bias for each group, not for each channel
  const T *x = nullptr, *scale = nullptr, *bias = nullptr;
  T* y = nullptr;  // may be x
};

template <typename T>
void NormalizeGroups(const GroupPlanes<T>& g, Parallel& parallel) {
  const std::int64_t each = g.channels / g.groups, n = each * g.pixels;
  parallel.For(g.batch * g.groups, std::max<std::int64_t>(1, 4096 / n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const T* x = g.x + i * n;
      const T mean = static_cast<T>(Sum(x, n) / static_cast<double>(n));
      const double inverse = 1 / std::sqrt(Deviations(x, n, mean) / static_cast<double>(n) + g.epsilon);
      for (std::int64_t k = 0; k < each; ++k) {
        const std::int64_t at = g.per_group ? i % g.groups : i % g.groups * each + k;
        const T factor = static_cast<T>(inverse * static_cast<double>(g.scale[at]));
        Affine(x + k * g.pixels, g.pixels, mean, factor, g.bias[at], g.y + i * n + k * g.pixels);
      }
    }
  });
}

}  // namespace sardonyx::ops
