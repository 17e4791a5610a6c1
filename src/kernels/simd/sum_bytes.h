// kernels/simd/sum_bytes.h - sums of bytes by the instruction that adds up their differences from others. Include only
// from *.isa.cpp.
#pragma once

#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sardonyx::kernels::SDX_ISA {

// The sum of whole vectors of bytes, each with `flip` exclusive-ored to it; `done` becomes how many bytes these are.
#if defined(__AVX512BW__)
inline std::int64_t SumVectors(const std::uint8_t* x, std::int64_t n, std::uint8_t flip, std::int64_t* done) {
  const __m512i flips = _mm512_set1_epi8(static_cast<char>(flip)), zero = _mm512_setzero_si512();
  __m512i a = zero, b = zero;
  std::int64_t i = 0;
  const auto sums = [&](std::int64_t at) {
    return _mm512_sad_epu8(_mm512_xor_si512(_mm512_loadu_si512(x + at), flips), zero);
  };
  for (; i + 128 <= n; i += 128) a = _mm512_add_epi64(a, sums(i)), b = _mm512_add_epi64(b, sums(i + 64));
  if (i + 64 <= n) a = _mm512_add_epi64(a, sums(i)), i += 64;
  *done = i;
  alignas(64) std::int64_t lanes[8];
  _mm512_store_si512(lanes, _mm512_add_epi64(a, b));
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}
#elif defined(__AVX2__)
inline std::int64_t SumVectors(const std::uint8_t* x, std::int64_t n, std::uint8_t flip, std::int64_t* done) {
  const __m256i flips = _mm256_set1_epi8(static_cast<char>(flip)), zero = _mm256_setzero_si256();
  __m256i a = zero, b = zero;
  std::int64_t i = 0;
  const auto sums = [&](std::int64_t at) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + at));
    return _mm256_sad_epu8(_mm256_xor_si256(bytes, flips), zero);
  };
  for (; i + 64 <= n; i += 64) a = _mm256_add_epi64(a, sums(i)), b = _mm256_add_epi64(b, sums(i + 32));
  *done = i;
  alignas(32) std::int64_t lanes[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), _mm256_add_epi64(a, b));
  return (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
}
#else
inline std::int64_t SumVectors(const std::uint8_t* x, std::int64_t n, std::uint8_t flip, std::int64_t* done) {
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += x[i] ^ flip;
  *done = n;
  return total;
}
#endif

}  // namespace sardonyx::kernels::SDX_ISA
