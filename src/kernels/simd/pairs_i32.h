// kernels/simd/pairs_i32.h - two rows of bytes or 16-bit values side by side, for dot products of pairs.
//
// Include only from *.isa.cpp.
#pragma once

#include "kernels/simd/vec_i32.h"

namespace sardonyx::kernels::SDX_ISA {

// pairs: N * kLanes groups of the values a[i] and b[i] as 16 bits each (DotWords), for 16 values of each row.
template <ptrdiff_t N>
void PairUp(const std::uint8_t* a, const std::uint8_t* b, UintVec (&pairs)[N]) {
  static_assert(N * kLanes == 16);
#if defined(__AVX512F__)
  const auto widen = [](const std::uint8_t* p) {
    return _mm512_maskz_cvtepu8_epi32(0xFFFF, _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  };
  pairs[0] = (UintVec)_mm512_or_si512(widen(a), _mm512_maskz_slli_epi32(0xFFFF, widen(b), 16));
#elif defined(__SSE2__)
  const __m128i of_a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
  const __m128i of_b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
  const __m128i low = _mm_unpacklo_epi8(of_a, of_b), high = _mm_unpackhi_epi8(of_a, of_b);
#if defined(__AVX2__)
  pairs[0] = (UintVec)_mm256_cvtepu8_epi16(low);
  pairs[1] = (UintVec)_mm256_cvtepu8_epi16(high);
#else
  const __m128i zero = _mm_setzero_si128();
  pairs[0] = (UintVec)_mm_unpacklo_epi8(low, zero), pairs[1] = (UintVec)_mm_unpackhi_epi8(low, zero);
  pairs[2] = (UintVec)_mm_unpacklo_epi8(high, zero), pairs[3] = (UintVec)_mm_unpackhi_epi8(high, zero);
#endif
#else
  std::uint16_t both[32];
  for (int i = 0; i < 16; ++i) both[2 * i] = a[i], both[2 * i + 1] = b[i];
  std::memcpy(pairs, both, sizeof both);
#endif
}

template <ptrdiff_t N>
void PairUp(const std::int16_t* a, const std::int16_t* b, UintVec (&pairs)[N]) {
  static_assert(N * kLanes == 16);
#if defined(__AVX512F__)
  const auto widen = [](const std::int16_t* p) {
    return _mm512_maskz_cvtepu16_epi32(0xFFFF, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  };
  pairs[0] = (UintVec)_mm512_or_si512(widen(a), _mm512_maskz_slli_epi32(0xFFFF, widen(b), 16));
#elif defined(__SSE2__)
  constexpr ptrdiff_t kHalf = 8;
  for (ptrdiff_t half = 0; half < 2; ++half) {
    const __m128i of_a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + half * kHalf));
    const __m128i of_b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + half * kHalf));
    const __m128i low = _mm_unpacklo_epi16(of_a, of_b), high = _mm_unpackhi_epi16(of_a, of_b);
    std::memcpy(&pairs[half * N / 2], &low, sizeof low);
    std::memcpy(reinterpret_cast<std::byte*>(&pairs[half * N / 2]) + sizeof low, &high, sizeof high);
  }
#else
  std::int16_t both[32];
  for (int i = 0; i < 16; ++i) both[2 * i] = a[i], both[2 * i + 1] = b[i];
  std::memcpy(pairs, both, sizeof both);
#endif
}

}  // namespace sardonyx::kernels::SDX_ISA
