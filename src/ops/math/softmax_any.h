// ops/math/softmax_any.h - softmax along the middle axis of [outer, n, inner], in float and in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/parallel.h"
#include "kernels/softmax/softmax_f32.h"

namespace sardonyx::ops {

// None of the sizes is 0; y may be x.
inline void SoftmaxAny(const float* x, std::int64_t outer, std::int64_t n, std::int64_t inner, bool log, float* y,
                       Parallel& parallel) {
  kernels::SoftmaxF32(x, outer, n, inner, log, y, parallel);
}

inline void SoftmaxAny(const double* x, std::int64_t outer, std::int64_t n, std::int64_t inner, bool log, double* y,
                       Parallel& parallel) {
  parallel.For(outer * inner, std::max<std::int64_t>(1, 2048 / n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t base = i / inner * n * inner + i % inner;
      double max = -std::numeric_limits<double>::infinity(), sum = 0;
      for (std::int64_t k = 0; k < n; ++k) max = std::max(max, x[base + k * inner]);
      for (std::int64_t k = 0; k < n; ++k) sum += std::exp(x[base + k * inner] - max);
      const double log_sum = std::log(sum);
      for (std::int64_t k = 0; k < n; ++k) {
        const std::int64_t at = base + k * inner;
        y[at] = log ? x[at] - max - log_sum : std::exp(x[at] - max) / sum;
      }
    }
  });
}

}  // namespace sardonyx::ops
