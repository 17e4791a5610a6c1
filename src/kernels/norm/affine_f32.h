// kernels/norm/affine_f32.h - the last step of every normalization, once its statistics are known: y = (x - mean) *
// scale + bias. Batch normalization has it in double, too.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

struct AffineF32Set {
  // y[i] = (x[i] - mean) * scale + bias; x may be y.
  void (*scalar)(const float* x, std::int64_t n, float mean, float scale, float bias, float* y);
  // y[i] = (x[i] - mean[i]) * scale[i] + bias[i].
  void (*columns)(const float* x, std::int64_t n, const float* mean, const float* scale, const float* bias, float* y);
  // y[i] = (x[i] - mean) * factor * scale[i] + bias[i]; scale and bias may be null.
  void (*row)(const float* x, std::int64_t n, float mean, float factor, const float* scale, const float* bias,
              float* y);
  // sum[i] = a[i] + b[i] + c[i]; c may be null.
  void (*add)(const float* a, const float* b, const float* c, std::int64_t n, float* sum);
  // Local response normalisation over channels of `pixels` columns `stride` apart:
  // y = x / (bias + factor * (sum of x^2 over channels [c - before, c + after]))^(3/4).
  void (*lrn)(const float* x, std::int64_t channels, std::int64_t stride, std::int64_t pixels, std::int64_t before,
              std::int64_t after, float factor, float bias, float* y);
  // As scalar and columns, in double.
  void (*scalar_f64)(const double* x, std::int64_t n, double mean, double scale, double bias, double* y);
  void (*columns_f64)(const double* x, std::int64_t n, const double* mean, const double* scale, const double* bias,
                      double* y);
};

#define SDX_DECLARE(isa)                                                                                              \
  namespace isa {                                                                                                     \
  void AffineScalar(const float* x, std::int64_t n, float mean, float scale, float bias, float* y);                   \
  void AffineColumns(const float* x, std::int64_t n, const float* mean, const float* scale, const float* bias,        \
                     float* y);                                                                                       \
  void AffineRow(const float* x, std::int64_t n, float mean, float factor, const float* scale, const float* bias,     \
                 float* y);                                                                                           \
  void AddRows(const float* a, const float* b, const float* c, std::int64_t n, float* sum);                           \
  void LrnThreeQuarters(const float* x, std::int64_t channels, std::int64_t stride, std::int64_t pixels,              \
                        std::int64_t before, std::int64_t after, float factor, float bias, float* y);                 \
  void AffineScalarF64(const double* x, std::int64_t n, double mean, double scale, double bias, double* y);           \
  void AffineColumnsF64(const double* x, std::int64_t n, const double* mean, const double* scale, const double* bias, \
                        double* y);                                                                                   \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

const AffineF32Set& AffineF32(Isa isa = BestIsa());

}  // namespace sardonyx::kernels
