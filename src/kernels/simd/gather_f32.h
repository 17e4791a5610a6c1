// kernels/simd/gather_f32.h - floats from places of their own. Include only from *.isa.cpp.
#pragma once

#include <cstdint>

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {

#if defined(__AVX512F__)
inline constexpr bool kGathers = true;

// sum + weight * x[at] for each lane; where `at` is negative the lane stays.
inline Vec AddGathered(Vec sum, const float* x, const std::int32_t* at, const float* weight) {
  const __m512i places = _mm512_loadu_si512(at);
  const __mmask16 inside = _mm512_cmpge_epi32_mask(places, _mm512_setzero_si512());
  const Vec found = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), inside, places, x, 4);
  return sum + found * _mm512_maskz_loadu_ps(inside, weight);
}
#else
inline constexpr bool kGathers = false;  // those of AVX2 are slow on many machines

inline Vec AddGathered(Vec sum, const float* x, const std::int32_t* at, const float* weight) {
  float lanes[kLanes];
  Store(lanes, sum);
  for (ptrdiff_t i = 0; i < kLanes; ++i)
    if (at[i] >= 0) lanes[i] += weight[i] * x[at[i]];
  return Load(lanes);
}
#endif

}  // namespace sardonyx::kernels::SDX_ISA
