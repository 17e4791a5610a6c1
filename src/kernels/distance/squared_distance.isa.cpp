// kernels/distance/squared_distance.isa.cpp - squared distances, one source for every ISA.
#include "kernels/distance/squared_distance.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

using std::int64_t;

template <typename T>
inline void Distances(const T* a, int64_t k, const T* points, int64_t n, T* y) {
  for (int64_t begin = 0; begin < n; begin += kDistanceBlock, points += k * kDistanceBlock) {
    T sums[kDistanceBlock] = {};
    for (int64_t i = 0; i < k; ++i) {
      const T* p = points + i * kDistanceBlock;
      const T x = a[i];
#pragma omp simd
      for (int64_t j = 0; j < kDistanceBlock; ++j) sums[j] += (x - p[j]) * (x - p[j]);
    }
    const int64_t count = n - begin < kDistanceBlock ? n - begin : kDistanceBlock;
    for (int64_t j = 0; j < count; ++j) y[begin + j] = sums[j];
  }
}

}  // namespace

void SquaredDistancesF32(const float* a, int64_t k, const float* points, int64_t n, float* y) {
  Distances(a, k, points, n, y);
}
void SquaredDistancesF64(const double* a, int64_t k, const double* points, int64_t n, double* y) {
  Distances(a, k, points, n, y);
}

}  // namespace sardonyx::kernels::SDX_ISA
