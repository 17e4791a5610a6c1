// kernels/simd/bytes_f32.h - bytes as vectors of floats, and tables of 256 bytes. Include only from *.isa.cpp.
#pragma once

#include "kernels/simd/vec_u8.h"

namespace sardonyx::kernels::SDX_ISA {

// kLanes signed or unsigned bytes as floats.
template <bool kSigned>
Vec BytesAsFloats(const std::uint8_t* from) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  const __m512i wide = kSigned ? _mm512_maskz_cvtepi8_epi32(0xFFFF, bytes) : _mm512_maskz_cvtepu8_epi32(0xFFFF, bytes);
  return _mm512_maskz_cvtepi32_ps(0xFFFF, wide);
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepi32_ps(kSigned ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes));
#else
  Vec values = {};
  for (ptrdiff_t i = 0; i < kLanes; ++i)
    values[i] = kSigned ? static_cast<float>(static_cast<std::int8_t>(from[i])) : static_cast<float>(from[i]);
  return values;
#endif
}

// The first `count` of them, the others 0.
template <bool kSigned>
Vec BytesAsFloats(const std::uint8_t* from, ptrdiff_t count) {
  if (count >= kLanes) return BytesAsFloats<kSigned>(from);
  std::uint8_t block[kLanes] = {};
  for (ptrdiff_t i = 0; i < count; ++i) block[i] = from[i];
  return BytesAsFloats<kSigned>(block);
}

// y[i] = table[x[i]], 64 at once, where the CPU has AVX512-VBMI (a row of the kernel's table says so). Returns how many
// of `n` elements were done: whole vectors only, and none with a lesser ISA.
#if defined(__AVX512F__)

__attribute__((target("avx512vbmi"))) inline std::size_t LookupVectors(const std::uint8_t* x, const std::uint8_t* table,
                                                                       std::size_t n, std::uint8_t* y) {
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
  const __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const __m512i at = _mm512_loadu_si512(x + i);
    const __m512i low = _mm512_permutex2var_epi8(t0, at, t1), high = _mm512_permutex2var_epi8(t2, at, t3);
    _mm512_storeu_si512(y + i, _mm512_mask_blend_epi8(_mm512_movepi8_mask(at), low, high));
  }
  return i;
}

#else

inline std::size_t LookupVectors(const std::uint8_t*, const std::uint8_t*, std::size_t, std::uint8_t*) { return 0; }

#endif

// The same with shuffles of 16 bytes: 64 elements at once, and none without AVX2.
//
// A shuffle gives 0 where an index is negative. The rows of 16 results are looked up one after the other, the index
// less 16 each time, so that all rows up to the element's own give something. Each row is kept as its difference
// (exclusive or) from the row before, so that together they give the element's own. To the first 8 rows indices from
// 128 on are negative, and to the last 8 the others.
#if defined(__AVX2__)

inline std::size_t LookupByShuffles(const std::uint8_t* x, const std::uint8_t* table, std::size_t n, std::uint8_t* y) {
  constexpr std::size_t kBytes = 32;
  if (n < 2 * kBytes) return 0;
  __m256i rows[16];
  for (int k = 0; k < 16; ++k) {
    const __m128i row = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * k));
    const __m128i before = _mm_loadu_si128(reinterpret_cast<const __m128i*>(table + 16 * (k % 8 == 0 ? k : k - 1)));
    rows[k] = _mm256_broadcastsi128_si256(k % 8 == 0 ? row : _mm_xor_si128(row, before));
  }
  const __m256i step = _mm256_set1_epi8(16), top = _mm256_set1_epi8(-128);
  std::size_t i = 0;
  for (; i + 2 * kBytes <= n; i += 2 * kBytes) {
    __m256i at[2], found[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
    for (int v = 0; v < 2; ++v) at[v] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i) + v);
    for (int half = 0; half < 2; ++half) {
      __m256i left[2] = {half == 0 ? at[0] : _mm256_xor_si256(at[0], top),
                         half == 0 ? at[1] : _mm256_xor_si256(at[1], top)};
#pragma GCC unroll 8
      for (int k = 0; k < 8; ++k) {
        for (int v = 0; v < 2; ++v) {
          found[v] = _mm256_xor_si256(found[v], _mm256_shuffle_epi8(rows[8 * half + k], left[v]));
          left[v] = _mm256_subs_epi8(left[v], step);
        }
      }
    }
    for (int v = 0; v < 2; ++v) _mm256_storeu_si256(reinterpret_cast<__m256i*>(y + i) + v, found[v]);
  }
  return i;
}

#else

inline std::size_t LookupByShuffles(const std::uint8_t*, const std::uint8_t*, std::size_t, std::uint8_t*) { return 0; }

#endif

}  // namespace sardonyx::kernels::SDX_ISA
