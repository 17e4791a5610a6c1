// kernels/resize/blend.isa.cpp - weighted sums of rows and of single elements, compiled once per ISA.
#include "kernels/resize/blend.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

template <typename T>
void Rows(const T* x, std::int64_t n, const std::int32_t* index, const T* weight, std::int64_t taps, T* y) {
  const T* a = x + index[0] * n;
  const T wa = weight[0];
  if (taps == 1) {
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] = wa * a[i];
    return;
  }
  const T* b = x + index[1] * n;
  const T wb = weight[1];
#pragma omp simd
  for (std::int64_t i = 0; i < n; ++i) y[i] = wa * a[i] + wb * b[i];
  for (std::int64_t t = 2; t < taps; ++t) {
    const T* c = x + index[t] * n;
    const T wc = weight[t];
#pragma omp simd
    for (std::int64_t i = 0; i < n; ++i) y[i] += wc * c[i];
  }
}

template <typename T>
void Line(const T* x, const std::int32_t* index, const T* weight, std::int64_t taps, std::int64_t out, T* y) {
  if (taps == 2) {
#pragma omp simd
    for (std::int64_t j = 0; j < out; ++j)
      y[j] = weight[2 * j] * x[index[2 * j]] + weight[2 * j + 1] * x[index[2 * j + 1]];
    return;
  }
  for (std::int64_t j = 0; j < out; ++j) {
    T sum = 0;
    for (std::int64_t t = 0; t < taps; ++t) sum += weight[j * taps + t] * x[index[j * taps + t]];
    y[j] = sum;
  }
}

}  // namespace

void BlendRowsF32(const float* x, std::int64_t n, const std::int32_t* index, const float* weight, std::int64_t taps,
                  float* y) {
  Rows(x, n, index, weight, taps, y);
}
void BlendRowsF64(const double* x, std::int64_t n, const std::int32_t* index, const double* weight, std::int64_t taps,
                  double* y) {
  Rows(x, n, index, weight, taps, y);
}
void BlendLineF32(const float* x, const std::int32_t* index, const float* weight, std::int64_t taps, std::int64_t out,
                  float* y) {
  Line(x, index, weight, taps, out, y);
}
void BlendLineF64(const double* x, const std::int32_t* index, const double* weight, std::int64_t taps, std::int64_t out,
                  double* y) {
  Line(x, index, weight, taps, out, y);
}

}  // namespace sardonyx::kernels::SDX_ISA
