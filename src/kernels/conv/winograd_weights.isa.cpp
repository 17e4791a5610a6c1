// kernels/conv/winograd_weights.isa.cpp - the transform of 3x3 kernels at the points of winograd.isa.cpp, in float64:
// its error must not add to that of the sums.
#include "kernels/conv/conv_kernels.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ptrdiff_t kHalf = kLanes / 2;
using Doubles = double __attribute__((vector_size(sizeof(Vec))));
using Floats = float __attribute__((vector_size(sizeof(Vec) / 2)));

constexpr ptrdiff_t kPanel = 2 * kLanes;  // output channels of a panel

// The transforms of the 3 weights of a row or column: kSpan = M + 2 of them.
template <int M>
struct WeightPoints;

template <>
struct WeightPoints<2> {
  static void Transform(const Doubles* w, Doubles* u) {
    const Doubles even = 0.5 * (w[0] + w[2]), odd = 0.5 * w[1];
    u[0] = w[0];
    u[1] = even + odd;
    u[2] = even - odd;
    u[3] = w[2];
  }
};

template <>
struct WeightPoints<4> {
  static constexpr double a = 0.625, b = 1.5, a2 = a * a, b2 = b * b;
  static constexpr double at_a = 1 / (2 * a2 * (a2 - b2)), at_b = 1 / (2 * b2 * (b2 - a2));

  static void Transform(const Doubles* w, Doubles* u) {
    const Doubles even_a = at_a * w[0] + (at_a * a2) * w[2], odd_a = (at_a * a) * w[1];
    const Doubles even_b = at_b * w[0] + (at_b * b2) * w[2], odd_b = (at_b * b) * w[1];
    u[0] = (1 / (a2 * b2)) * w[0];
    u[1] = even_a + odd_a;
    u[2] = even_a - odd_a;
    u[3] = even_b + odd_b;
    u[4] = even_b - odd_b;
    u[5] = w[2];
  }
};

// u[position * plane + j] for half a vector of kernels: taps[k * kPanel + j] is weight k of kernel j.
template <int M>
void TransformHalf(const float* taps, float* u, ptrdiff_t plane) {
  constexpr int kSpan = M + 2;
  Doubles columns[3][kSpan];
#pragma GCC unroll 4
  for (int x = 0; x < 3; ++x) {
    Doubles w[3];
#pragma GCC unroll 4
    for (int y = 0; y < 3; ++y) {
      Floats f;
      std::memcpy(&f, taps + (y * 3 + x) * kPanel, sizeof f);
      w[y] = __builtin_convertvector(f, Doubles);
    }
    WeightPoints<M>::Transform(w, columns[x]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < kSpan; ++r) {
    const Doubles row[3] = {columns[0][r], columns[1][r], columns[2][r]};
    Doubles out[kSpan];
    WeightPoints<M>::Transform(row, out);
#pragma GCC unroll 8
    for (int c = 0; c < kSpan; ++c) {
      const Floats f = __builtin_convertvector(out[c], Floats);
      std::memcpy(u + (r * kSpan + c) * plane, &f, sizeof f);
    }
  }
}

template <int M>
void Weights(const WinogradWeightsArgs& d) {
  alignas(64) float taps[9 * kPanel] = {};
  const ptrdiff_t plane = d.channels * kPanel;
  for (int64_t c = 0; c < d.channels; ++c) {
    const float* kernel = d.w + c * 9;
    for (int64_t j = 0; j < d.columns; ++j, kernel += d.channels * 9)
#pragma GCC unroll 16
      for (int k = 0; k < 9; ++k) taps[k * kPanel + j] = kernel[k];
    for (ptrdiff_t j = 0; j < kPanel; j += kHalf) TransformHalf<M>(taps + j, d.u + c * kPanel + j, plane);
  }
}

}  // namespace

void WinogradWeights2(const WinogradWeightsArgs& args) { Weights<2>(args); }
void WinogradWeights4(const WinogradWeightsArgs& args) { Weights<4>(args); }

}  // namespace sardonyx::kernels::SDX_ISA
