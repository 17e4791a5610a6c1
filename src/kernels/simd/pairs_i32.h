// kernels/simd/pairs_i32.h - two rows of bytes side by side, widened to 16 bits, for dot products of pairs.
//
// Include only from *.isa.cpp.
#pragma once

#include "kernels/simd/vec_i32.h"

namespace sardonyx::kernels::SDX_ISA {

// pairs: N * kLanes groups of the values a[i] and b[i] as 16 bits each (DotWords), for 16 values of each row. Bytes are
// signed or unsigned.
template <typename Byte, ptrdiff_t N>
[[gnu::always_inline]] inline void PairUp(const Byte* a, const Byte* b, UintVec (&pairs)[N]) {
  static_assert(N * kLanes == 16 && sizeof(Byte) == 1);
  [[maybe_unused]] constexpr bool kSigned = Byte(-1) < 0;
#if defined(__AVX512F__)
  const auto widen = [](const Byte* p) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return kSigned ? _mm512_maskz_cvtepi8_epi32(0xFFFF, bytes) : _mm512_maskz_cvtepu8_epi32(0xFFFF, bytes);
  };
  const __m512i low = kSigned ? _mm512_and_si512(widen(a), _mm512_set1_epi32(0xFFFF)) : widen(a);
  pairs[0] = (UintVec)_mm512_or_si512(low, _mm512_maskz_slli_epi32(0xFFFF, widen(b), 16));
#elif defined(__SSE2__)
  const __m128i of_a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
  const __m128i of_b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
  const __m128i low = _mm_unpacklo_epi8(of_a, of_b), high = _mm_unpackhi_epi8(of_a, of_b);
#if defined(__AVX2__)
  const auto widen = [](__m128i bytes) { return kSigned ? _mm256_cvtepi8_epi16(bytes) : _mm256_cvtepu8_epi16(bytes); };
  pairs[0] = (UintVec)widen(low);
  pairs[1] = (UintVec)widen(high);
#else
  const auto widen = [](__m128i bytes, UintVec* to) {
    const __m128i zero = _mm_setzero_si128(), above = kSigned ? _mm_cmpgt_epi8(zero, bytes) : zero;
    to[0] = (UintVec)_mm_unpacklo_epi8(bytes, above), to[1] = (UintVec)_mm_unpackhi_epi8(bytes, above);
  };
  widen(low, &pairs[0]);
  widen(high, &pairs[2]);
#endif
#else
  std::int16_t both[32];
  for (int i = 0; i < 16; ++i) both[2 * i] = a[i], both[2 * i + 1] = b[i];
  std::memcpy(pairs, both, sizeof both);
#endif
}

}  // namespace sardonyx::kernels::SDX_ISA
