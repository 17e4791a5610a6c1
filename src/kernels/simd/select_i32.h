// kernels/simd/select_i32.h - a mask of the lanes that meet a condition, and floats looked up by lane.
//
// Include only from *.isa.cpp. Keys are signed, the other integers unsigned.
#pragma once

#include "base/debug_build.h"
#include "kernels/simd/vec_i32.h"

namespace sardonyx::kernels::SDX_ISA {

#if defined(__AVX512F__)

// bits & keep in the lanes with above < key, or above < key <= up_to; the others as they are.
inline UintVec AndWhereAbove(UintVec bits, IntVec keys, std::int32_t above, std::uint32_t keep) {
  const __mmask16 out = _mm512_cmpgt_epi32_mask((__m512i)keys, _mm512_set1_epi32(above));
  return (UintVec)_mm512_mask_and_epi32((__m512i)bits, out, (__m512i)bits, _mm512_set1_epi32(static_cast<int>(keep)));
}
inline UintVec AndWhereWithin(UintVec bits, IntVec keys, std::int32_t above, std::int32_t up_to, std::uint32_t keep) {
  const __mmask16 is_above = _mm512_cmpgt_epi32_mask((__m512i)keys, _mm512_set1_epi32(above));
  const __mmask16 out = _mm512_mask_cmple_epi32_mask(is_above, (__m512i)keys, _mm512_set1_epi32(up_to));
  return (UintVec)_mm512_mask_and_epi32((__m512i)bits, out, (__m512i)bits, _mm512_set1_epi32(static_cast<int>(keep)));
}

// base + the place of the first bit, the highest being 0; `others` in the lanes without a bit.
inline UintVec FirstBitOr(UintVec bits, std::uint32_t base, UintVec others) {
  const __mmask16 some = _mm512_test_epi32_mask((__m512i)bits, (__m512i)bits);
  const __m512i first = _mm512_add_epi32(_mm512_lzcnt_epi32((__m512i)bits), _mm512_set1_epi32(static_cast<int>(base)));
  return (UintVec)_mm512_mask_mov_epi32((__m512i)others, some, first);
}

// values[index] of each lane. Of32: all indices are below 32, and 32 values are readable.
inline Vec LookUp(const float* values, UintVec index) {
  if constexpr (kAddressSanitizer) {  // which does not see what a gather reads
    Vec v;
    for (int i = 0; i < kLanes; ++i) v[i] = values[index[i]];
    return v;
  }
  // The form with a mask of ones: g++ 12 warns inside the plain one.
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), 0xFFFF, (__m512i)index, values, 4);
}
inline Vec LookUpOf32(const float* values, UintVec index) {
  return _mm512_permutex2var_ps(_mm512_loadu_ps(values), (__m512i)index, _mm512_loadu_ps(values + 16));
}

#else

inline UintVec AndWhereAbove(UintVec bits, IntVec keys, std::int32_t above, std::uint32_t keep) {
  const UintVec out = (UintVec)(keys > (IntVec)BroadcastInt(static_cast<std::uint32_t>(above)));
  return bits & ~(out & BroadcastInt(~keep));
}
inline UintVec AndWhereWithin(UintVec bits, IntVec keys, std::int32_t above, std::int32_t up_to, std::uint32_t keep) {
  const UintVec out = (UintVec)(keys > (IntVec)BroadcastInt(static_cast<std::uint32_t>(above))) &
                      ~(UintVec)(keys > (IntVec)BroadcastInt(static_cast<std::uint32_t>(up_to)));
  return bits & ~(out & BroadcastInt(~keep));
}
inline UintVec FirstBitOr(UintVec bits, std::uint32_t base, UintVec others) {
  for (int i = 0; i < kLanes; ++i) {
    if (bits[i] != 0) others[i] = base + static_cast<std::uint32_t>(__builtin_clz(bits[i]));
  }
  return others;
}
inline Vec LookUp(const float* values, UintVec index) {
  Vec v;
  for (int i = 0; i < kLanes; ++i) v[i] = values[index[i]];
  return v;
}
inline Vec LookUpOf32(const float* values, UintVec index) { return LookUp(values, index); }

#endif

}  // namespace sardonyx::kernels::SDX_ISA
