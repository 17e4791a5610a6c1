// kernels/simd/fold_f32.h - a vector of floats folded to one number, and the first lanes of a vector.
//
// Include only from *.isa.cpp, like vec_f32.h.
#pragma once

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {

// v in the lanes that take part, 0 in the others.
inline Vec Keep(Vec v, Lanes lanes) {
#if defined(__AVX512F__)
  return _mm512_maskz_mov_ps(lanes, v);
#elif defined(__AVX2__)
  return _mm256_and_ps(v, _mm256_castsi256_ps(LaneMask(lanes)));
#else
  for (int64_t i = lanes.count < 0 ? 0 : lanes.count; i < kLanes; ++i) v[i] = 0;
  return v;
#endif
}

// All lanes as one: join(a, b) of the halves, which are shorter vectors, until one is left.
template <typename Join, typename V>
float JoinHalves(V v, Join join) {
  if constexpr (sizeof(V) == 64) {
    return JoinHalves(join(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7),
                           __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)),
                      join);
  } else if constexpr (sizeof(V) == 32) {
    return JoinHalves(join(__builtin_shufflevector(v, v, 0, 1, 2, 3), __builtin_shufflevector(v, v, 4, 5, 6, 7)), join);
  } else {
    const Quad pairs = join(v, __builtin_shufflevector(v, v, 2, 3, 2, 3));
    return join(pairs, __builtin_shufflevector(pairs, pairs, 1, 1, 1, 1))[0];
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
