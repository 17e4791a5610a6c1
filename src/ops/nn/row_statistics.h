// ops/nn/row_statistics.h - sums over a row of n elements, for normalizations in float and in double.
#pragma once

#include <cstdint>

#include "kernels/reduce/reduce_f32.h"

namespace sardonyx::ops {

inline double Sum(const float* x, std::int64_t n) { return kernels::ReduceF32().row(kernels::ReduceKind::kSum, x, n); }
inline double Sum(const double* x, std::int64_t n) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  return sum;
}

// The sum of squared differences from `mean`.
inline double Deviations(const float* x, std::int64_t n, float mean) {
  return kernels::ReduceF32().sum_squared_deviations(x, n, mean);
}
inline double Deviations(const double* x, std::int64_t n, double mean) {
  double sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += (x[i] - mean) * (x[i] - mean);
  return sum;
}

}  // namespace sardonyx::ops
