// kernels/conv/linear_ending.h - what becomes of the sums of some pixels and one vector of channels.
//
// Include only from *.isa.cpp.
#pragma once

#include "kernels/conv/conv_kernels.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {

// Clamps and additions take the units that the sums need, so what does nothing is left out, and the bias is what the
// sums start from.
struct Ending {
  // `early`: sums start from the bias where that is possible; long ones would lose accuracy to a large bias.
  Ending(const LinearEpilogue& linear, int64_t channel, Lanes lanes_, bool early = true)
      : e(linear), lanes(lanes_), starts(early && linear.alpha == 1) {
    bias = Broadcast(e.bias);
    if (e.bias_n != nullptr) bias += Load(e.bias_n + channel, lanes);
    bias *= Broadcast(e.bias_scale);
  }
  Vec Start() const { return starts ? bias : Broadcast(0); }

  // y[p * step] = the finished sums, p < count <= P
  template <int P>
  void Store(Vec (&sums)[P], int64_t count, ptrdiff_t at, ptrdiff_t step, float* y) const {
    if (!starts) {
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) sums[p] = sums[p] * Broadcast(e.alpha) + bias;
    }
    if (e.residual != nullptr) {
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p)
        if (p < count) sums[p] += Broadcast(e.beta) * Load(e.residual + at + p * step, lanes);
    }
    if (e.low > -__builtin_inff()) {
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) sums[p] = Max(Broadcast(e.low), sums[p]);
    }
    if (e.high < __builtin_inff()) {
#pragma GCC unroll 16
      for (int p = 0; p < P; ++p) sums[p] = Min(Broadcast(e.high), sums[p]);
    }
#pragma GCC unroll 16
    for (int p = 0; p < P; ++p)
      if (p < count) SDX_ISA::Store(y + at + p * step, sums[p], lanes);
  }

  const LinearEpilogue& e;
  Lanes lanes;
  bool starts;
  Vec bias;
};

}  // namespace sardonyx::kernels::SDX_ISA
