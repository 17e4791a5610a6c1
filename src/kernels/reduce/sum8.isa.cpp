// kernels/reduce/sum8.isa.cpp - 8-bit sums: rows by sums of differences from 0, columns as loops that compilers turn into vectors.
#include "kernels/reduce/sum8.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sardonyx::kernels::SDX_ISA {
namespace {

// The sum of whole vectors of bytes, each with `flip` exclusive-ored to it; `done` becomes how many bytes these are.
#if defined(__AVX512BW__)
std::int64_t SumVectors(const std::uint8_t* x, std::int64_t n, std::uint8_t flip, std::int64_t* done) {
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
std::int64_t SumVectors(const std::uint8_t* x, std::int64_t n, std::uint8_t flip, std::int64_t* done) {
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
std::int64_t SumVectors(const std::uint8_t* x, std::int64_t n, std::uint8_t flip, std::int64_t* done) {
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < n; ++i) total += x[i] ^ flip;
  *done = n;
  return total;
}
#endif

// Contiguous bytes. A signed one with its highest bit changed is 128 more.
template <bool kSigned>
std::int32_t SumRow(const std::uint8_t* x, std::int64_t n) {
  std::int64_t i = 0, total = SumVectors(x, n, kSigned ? 0x80 : 0, &i);
  if (kSigned) total -= 128 * i;
  for (; i < n; ++i) total += kSigned ? static_cast<std::int8_t>(x[i]) : x[i];
  return static_cast<std::int32_t>(total);
}

template <typename T>
void SumColumns(const T* x, std::int64_t rows, std::int64_t stride, std::int64_t columns, std::int32_t* acc) {
  for (std::int64_t i = 0; i < rows; ++i) {
    const T* row = x + i * stride;
#pragma omp simd
    for (std::int64_t k = 0; k < columns; ++k) acc[k] += row[k];
  }
}

}  // namespace

void Sum8(const std::uint8_t* x, bool is_signed, std::int64_t rows, std::int64_t stride, std::int64_t columns,
          std::int32_t* acc) {
  if (columns == 1 && stride == 1) {
    *acc += is_signed ? SumRow<true>(x, rows) : SumRow<false>(x, rows);
  } else if (is_signed) {
    SumColumns(static_cast<const std::int8_t*>(static_cast<const void*>(x)), rows, stride, columns, acc);
  } else {
    SumColumns(x, rows, stride, columns, acc);
  }
}

}  // namespace sardonyx::kernels::SDX_ISA
