// kernels/gemm/epilogue.h - what a matrix product or convolution does with its sums before it stores them.
//
// y[m, n] = activation(alpha * sum + beta * residual[m, n] + bias_scale * (bias_n[n] + bias_m[m] + bias))
#pragma once

#include <cstdint>
#include <limits>

#include "kernels/elementwise/unary_kind.h"

namespace sardonyx::kernels {

// A function of one float with its parameters a and b; those of kClip are the lowest and the highest result. NaN stays
// NaN. The errors of the kinds that have a form of their own here (activate.isa.cpp) are tested in activate_test.cpp;
// the others are computed as kernels::UnaryF32 computes them.
struct Activation {
  UnaryKind kind = UnaryKind::kNone;
  float alpha = 0;
  float beta = 0;
};

// For GEMM, m and n are the row and the column of C. For convolutions m is the output pixel and n the output channel:
// bias_n is the Conv bias, and bias_m must be null. A zero-initialised-by-default Epilogue stores the plain sums.
struct Epilogue {
  float alpha = 1;
  float bias_scale = 1;
  const float* bias_n = nullptr;  // [N] or null
  const float* bias_m = nullptr;  // [M] or null
  float bias = 0;
  const float* residual =
      nullptr;  // or null; GEMM: row stride `residual_stride` (0 repeats one row of N values),
                // Conv: same shape and layout as y. May be C itself (C += A B), not overlap otherwise
  std::int64_t residual_stride = 0;
  float beta = 1;
  Activation activation;
};

}  // namespace sardonyx::kernels
