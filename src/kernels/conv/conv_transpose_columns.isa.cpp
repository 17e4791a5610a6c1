// kernels/conv/conv_transpose_columns.isa.cpp - rows of taps side by side, one source for every ISA.
#include "kernels/conv/conv_transpose_columns.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

// Inline: behind a call g++ 12 leaves the upper halves of the registers dirty, which slows the caller down fourfold.
template <ptrdiff_t kStride>
[[gnu::always_inline]] inline void InterleaveVector(const InterleavedRows& p, int64_t i, Vec bias) {
  Vec v[kStride];
  for (ptrdiff_t r = 0; r < kStride; ++r) v[r] = Load(p.rows + r * p.pitch + i) + bias;
  float* to = p.y + i * kStride;
  if (!p.add) return Interleave(v, to);
  float mixed[kStride * kLanes];
  Interleave(v, mixed);
  for (ptrdiff_t r = 0; r < kStride; ++r) Store(to + r * kLanes, Load(to + r * kLanes) + Load(mixed + r * kLanes));
}

// Returns how many values of each row are placed: none of a row shorter than a vector.
template <ptrdiff_t kStride>
int64_t InterleaveVectors(const InterleavedRows& p) {
  if (p.count < kLanes) return 0;
  const Vec bias = Broadcast(p.add ? 0 : p.bias);
  int64_t i = 0;
  for (; i + kLanes <= p.count; i += kLanes) InterleaveVector<kStride>(p, i, bias);
  if (p.add || i == p.count) return i;
  InterleaveVector<kStride>(p, p.count - kLanes, bias);  // some of them once more
  return p.count;
}

}  // namespace

void InterleaveRows(const InterleavedRows& p) {
  const int64_t done = p.stride == 1   ? InterleaveVectors<1>(p)
                       : p.stride == 2 ? InterleaveVectors<2>(p)
                       : p.stride == 3 ? InterleaveVectors<3>(p)
                       : p.stride == 4 ? InterleaveVectors<4>(p)
                                       : 0;
  for (int64_t r = 0; r < p.stride; ++r) {
    const float* from = p.rows + r * p.pitch;
    for (int64_t i = done; i < p.count; ++i) {
      float& y = p.y[i * p.stride + r];
      y = p.add ? y + from[i] : from[i] + p.bias;
    }
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
