// kernels/norm/affine_f32.isa.cpp - scaling and shifting of rows, one source for every ISA.
#include "kernels/norm/affine_f32.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

template <typename Step>
void ForEachVector(int64_t n, Step step) {
  for (int64_t i = 0; i < n; i += kLanes) step(i, FirstLanes(n - i));
}

}  // namespace

void AffineScalar(const float* x, int64_t n, float mean, float scale, float bias, float* y) {
  const Vec m = Broadcast(mean), s = Broadcast(scale), b = Broadcast(bias);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) Store(y + i, (Load(x + i) - m) * s + b);
  if (i < n) Store(y + i, (Load(x + i, FirstLanes(n - i)) - m) * s + b, FirstLanes(n - i));
}

void AffineColumns(const float* x, int64_t n, const float* mean, const float* scale, const float* bias, float* y) {
  ForEachVector(n, [=](int64_t i, Lanes l) {
    Store(y + i, (Load(x + i, l) - Load(mean + i, l)) * Load(scale + i, l) + Load(bias + i, l), l);
  });
}

void AffineRow(const float* x, int64_t n, float mean, float factor, const float* scale, const float* bias, float* y) {
  const Vec m = Broadcast(mean), f = Broadcast(factor);
  ForEachVector(n, [=](int64_t i, Lanes l) {
    Vec v = (Load(x + i, l) - m) * f;
    if (scale != nullptr) v = v * Load(scale + i, l);
    if (bias != nullptr) v = v + Load(bias + i, l);
    Store(y + i, v, l);
  });
}

void AddRows(const float* a, const float* b, const float* c, int64_t n, float* sum) {
  ForEachVector(n, [=](int64_t i, Lanes l) {
    Vec v = Load(a + i, l) + Load(b + i, l);
    if (c != nullptr) v = v + Load(c + i, l);
    Store(sum + i, v, l);
  });
}

void LrnThreeQuarters(const float* x, int64_t channels, int64_t stride, int64_t pixels, int64_t before, int64_t after,
                      float factor, float bias, float* y) {
  const Vec f = Broadcast(factor), b = Broadcast(bias);
  ForEachVector(pixels, [=](int64_t i, Lanes l) {
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t first = c > before ? c - before : 0, last = c + after < channels ? c + after : channels - 1;
      Vec sum = Broadcast(0);
      for (int64_t k = first; k <= last; ++k) {
        const Vec v = Load(x + k * stride + i, l);
        sum = v * v + sum;
      }
      const Vec base = sum * f + b;
      Store(y + c * stride + i, Load(x + c * stride + i, l) / Sqrt(base * Sqrt(base)), l);
    }
  });
}

void AffineScalarF64(const double* x, int64_t n, double mean, double scale, double bias, double* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * scale + bias;
}

void AffineColumnsF64(const double* x, int64_t n, const double* mean, const double* scale, const double* bias,
                      double* y) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean[i]) * scale[i] + bias[i];
}

}  // namespace sardonyx::kernels::SDX_ISA
