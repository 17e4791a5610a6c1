// kernels/norm/group_norm_last_f32.isa.cpp - squared deviations of columns, one source for every ISA.
#include "kernels/norm/group_norm_last_f32.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {

void DeviationColumns(const float* x, int64_t rows, int64_t channels, const float* mean, float* sums) {
  for (int64_t c = 0; c < channels; c += kLanes) {
    const Lanes lanes = FirstLanes(channels - c);
    const Vec shift = Load(mean + c, lanes);
    Vec sum = Broadcast(0);
    for (int64_t r = 0; r < rows; ++r) {
      const Vec d = Load(x + r * channels + c, lanes) - shift;
      sum = sum + d * d;
    }
    Store(sums + c, sum, lanes);
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
