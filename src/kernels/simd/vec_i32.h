// kernels/simd/vec_i32.h - vectors of 32-bit integers and the dot products of 8 and 16-bit groups, for int8 kernels.
//
// Include only from *.isa.cpp. A group is 32 bits of one lane: two 16-bit values everywhere, four bytes where the CPU
// has VNNI (the caller checks base/cpu_info.h; the instruction is written as asm, so no compiler flag is needed).
#pragma once

#include "kernels/simd/vec_f32.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace sardonyx::kernels::SDX_ISA {

using UintVec = unsigned __attribute__((vector_size(4 * kLanes)));  // wraps without undefined behaviour

inline UintVec BroadcastInt(std::uint32_t x) { return UintVec{} + x; }

#if defined(__AVX512F__)

constexpr bool kMayHaveVnni = true;

inline UintVec LoadInt(const void* p) { return (UintVec)_mm512_loadu_si512(p); }
inline UintVec LoadInt(const void* p, Lanes lanes) { return (UintVec)_mm512_maskz_loadu_epi32(lanes, p); }
inline void StoreInt(void* p, UintVec v, Lanes lanes) { _mm512_mask_storeu_epi32(p, lanes, (__m512i)v); }
inline UintVec DotWords(UintVec sum, UintVec a, UintVec b) {
  return sum + (UintVec)_mm512_madd_epi16((__m512i)a, (__m512i)b);
}
// g++ 12 surrounds the intrinsic with two register copies per instruction (55 % of the ceiling); the asm form has none.
inline UintVec DotBytes(UintVec sum, UintVec unsigned_a, UintVec signed_b) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(unsigned_a), "v"(signed_b));
  return sum;
}

constexpr bool kHasLookUp = true;
// table[index % 16] for each lane
inline Vec LookUp(Vec table, UintVec index) { return _mm512_maskz_permutexvar_ps(0xFFFF, (__m512i)index, table); }

#else

constexpr bool kMayHaveVnni = false;
constexpr bool kHasLookUp = false;
inline Vec LookUp(Vec table, UintVec) { return table; }  // never called

inline UintVec LoadInt(const void* p) {
  UintVec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline UintVec LoadInt(const void* p, Lanes lanes) {
  UintVec v = {};
  if (lanes.count > 0) std::memcpy(&v, p, 4 * static_cast<std::size_t>(lanes.count < kLanes ? lanes.count : kLanes));
  return v;
}
inline void StoreInt(void* p, UintVec v, Lanes lanes) {
  if (lanes.count > 0) std::memcpy(p, &v, 4 * static_cast<std::size_t>(lanes.count < kLanes ? lanes.count : kLanes));
}
#if defined(__AVX2__)
inline UintVec DotWords(UintVec sum, UintVec a, UintVec b) {
  return sum + (UintVec)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}
#elif defined(__SSE2__)
inline UintVec DotWords(UintVec sum, UintVec a, UintVec b) {
  return sum + (UintVec)_mm_madd_epi16((__m128i)a, (__m128i)b);
}
#else
inline UintVec DotWords(UintVec sum, UintVec a, UintVec b) {
  std::int16_t x[2 * kLanes], y[2 * kLanes];
  std::memcpy(x, &a, sizeof x);
  std::memcpy(y, &b, sizeof y);
  for (int i = 0; i < kLanes; ++i) sum[i] += static_cast<unsigned>(x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1]);
  return sum;
}
#endif
inline UintVec DotBytes(UintVec sum, UintVec, UintVec) { return sum; }  // never called: kMayHaveVnni is false

#endif

// Dot products of bytes without VNNI, exact while the sum of two neighbouring products fits into 16 bits.
#if defined(__AVX2__) && !defined(__AVX512F__)
constexpr bool kHasSmallBytes = true;
inline UintVec DotSmallBytes(UintVec sum, UintVec unsigned_a, UintVec signed_b) {
  const __m256i pairs = _mm256_maddubs_epi16((__m256i)unsigned_a, (__m256i)signed_b);
  return sum + (UintVec)_mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
}
// 16-bit sums of two neighbouring products of bytes, and sums of such sums: exact while they fit.
inline UintVec PairsOfBytes(UintVec unsigned_a, UintVec signed_b) {
  return (UintVec)_mm256_maddubs_epi16((__m256i)unsigned_a, (__m256i)signed_b);
}
// Operands come from memory with each instruction: compilers would load them first, where all registers hold sums.
inline UintVec BroadcastGroup(const std::byte* p) {
  UintVec v;
  asm volatile("vpbroadcastd %1, %0" : "=x"(v) : "m"(*reinterpret_cast<const std::uint32_t*>(p)));
  return v;
}
inline UintVec PairsFrom(UintVec x, const std::byte* b) {
  UintVec v;
  asm("vpmaddubsw %2, %1, %0" : "=x"(v) : "x"(x), "m"(*reinterpret_cast<const UintVec*>(b)));
  return v;
}
inline UintVec AddWords(UintVec a, UintVec b) { return (UintVec)_mm256_add_epi16((__m256i)a, (__m256i)b); }
inline UintVec SumPairs(UintVec sum, UintVec words) {
  const __m256i pairs = _mm256_madd_epi16((__m256i)words, _mm256_set1_epi16(1));
  asm("vpaddd %1, %0, %0" : "+x"(sum) : "x"(pairs));  // compilers would add several pairs first: too many registers
  return sum;
}
// Sums of two products of signed bytes; only `a` may be -128.
inline UintVec PairsOfSignedBytes(UintVec a, UintVec b) {
  return PairsOfBytes((UintVec)_mm256_abs_epi8((__m256i)a), (UintVec)_mm256_sign_epi8((__m256i)b, (__m256i)a));
}
// The signed bytes 0 and 2, or 1 and 3, of each group as 16-bit values.
inline UintVec EvenBytes(UintVec v) { return (UintVec)_mm256_srai_epi16(_mm256_slli_epi16((__m256i)v, 8), 8); }
inline UintVec OddBytes(UintVec v) { return (UintVec)_mm256_srai_epi16((__m256i)v, 8); }
#else
constexpr bool kHasSmallBytes = false;
inline UintVec DotSmallBytes(UintVec sum, UintVec, UintVec) { return sum; }  // never called, nor are the others
inline UintVec PairsOfBytes(UintVec a, UintVec) { return a; }
inline UintVec BroadcastGroup(const std::byte* p) { return LoadInt(p); }
inline UintVec PairsFrom(UintVec x, const std::byte*) { return x; }
inline UintVec AddWords(UintVec a, UintVec) { return a; }
inline UintVec SumPairs(UintVec sum, UintVec) { return sum; }
inline UintVec PairsOfSignedBytes(UintVec a, UintVec) { return a; }
inline UintVec EvenBytes(UintVec v) { return v; }
inline UintVec OddBytes(UintVec v) { return v; }
#endif

}  // namespace sardonyx::kernels::SDX_ISA
