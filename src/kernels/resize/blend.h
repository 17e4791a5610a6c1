// kernels/resize/blend.h - the inner loops of ResampleAxis, for each ISA.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// BlendRows: y[i] = sum over t of weight[t] * x[index[t] * n + i], i < n.
// BlendLine: y[j] = sum over t of weight[j * taps + t] * x[index[j * taps + t]], j < out.
#define SDX_DECLARE(isa)                                                                                               \
  namespace isa {                                                                                                      \
  void BlendRowsF32(const float* x, std::int64_t n, const std::int32_t* index, const float* weight, std::int64_t taps, \
                    float* y);                                                                                         \
  void BlendRowsF64(const double* x, std::int64_t n, const std::int32_t* index, const double* weight,                  \
                    std::int64_t taps, double* y);                                                                     \
  void BlendLineF32(const float* x, const std::int32_t* index, const float* weight, std::int64_t taps,                 \
                    std::int64_t out, float* y);                                                                       \
  void BlendLineF64(const double* x, const std::int32_t* index, const double* weight, std::int64_t taps,               \
                    std::int64_t out, double* y);                                                                      \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
