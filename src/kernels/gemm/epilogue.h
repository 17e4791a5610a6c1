// kernels/gemm/epilogue.h - what a matrix product or convolution does with its sums before it stores them.
//
// y[m, n] = activation(alpha * sum + beta * residual[m, n] + bias_scale * (bias_n[n] + bias_m[m] + bias))
#pragma once

#include <cstdint>
#include <limits>

namespace sardonyx::kernels {

enum class ActivationKind : std::uint8_t {
  kNone,
  kRelu,       // max(x, 0)
  kClip,       // min(max(x, alpha), beta)
  kLeakyRelu,  // x < 0 ? alpha * x : x
  kSigmoid,    // 1 / (1 + e^-x)
  kTanh,
  kGelu,             // x / 2 * (1 + erf(x / sqrt(2)))
  kHardSigmoid,      // max(0, min(1, alpha * x + beta))
  kHardSwish,        // x * max(0, min(1, x / 6 + 1/2))
  kSilu,             // x * sigmoid(x)
  kGeluTanh,         // x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
  kQuickGelu,        // x * sigmoid(alpha * x)
  kElu,              // x < 0 ? alpha * (e^x - 1) : x
  kSelu,             // beta * elu(x)
  kSoftplus,         // ln(1 + e^x)
  kSoftsign,         // x / (1 + |x|)
  kThresholdedRelu,  // x > alpha ? x : 0
};

// NaN stays NaN in every kind. Errors, tested in gemm_f32_test.cpp: sigmoid, silu, quick gelu and tanh 4e-7, both
// gelus 8e-7 (tanh form 1.2e-6) relative to max(|y|, 2^-10); hard sigmoid and hard swish 3e-7 * max(|x|, 1) (their
// terms cancel); elu, selu and softplus 6e-7, softsign 2e-7; the others one rounding.
struct Activation {
  ActivationKind kind = ActivationKind::kNone;
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
