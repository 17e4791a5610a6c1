// kernels/attention/rotary.isa.cpp - rotary embedding of one head.
#include "kernels/attention/rotary.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {

// NOLINTNEXTLINE(readability-function-size): one head and its angles
void Rotary(const float* x, const float* cos, const float* sin, int64_t half, int64_t size, bool interleaved,
            float* y) {
  for (int64_t i = 0; interleaved && i < half; ++i) {
    const float a = x[2 * i], b = x[2 * i + 1];
    y[2 * i] = cos[i] * a - sin[i] * b;
    y[2 * i + 1] = sin[i] * a + cos[i] * b;
  }
  for (int64_t i = 0; !interleaved && i < half; i += kLanes) {
    const Lanes lanes = FirstLanes(half - i);
    const Vec a = Load(x + i, lanes), b = Load(x + half + i, lanes);
    const Vec c = Load(cos + i, lanes), s = Load(sin + i, lanes);
    Store(y + i, c * a - s * b, lanes);
    Store(y + half + i, s * a + c * b, lanes);
  }
  for (int64_t i = 2 * half; i < size && x != y; ++i) y[i] = x[i];
}

}  // namespace sardonyx::kernels::SDX_ISA
