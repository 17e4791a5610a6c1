// kernels/simd/vec_f32.h - one vector of floats of the ISA being compiled, for the matrix kernels.
//
// Include only from *.isa.cpp: everything lies in namespace SDX_ISA. Vec is a compiler vector, so + - * / and
// comparisons work on it (a * b + c mostly becomes an FMA where the ISA has one; MulAdd(a, b, c) always does, where
// sums must have the same bits in several loops). Lanes says which of the first lanes of a vector take part.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sardonyx::kernels::SDX_ISA {

using std::int64_t;
using std::ptrdiff_t;
using Quad = float __attribute__((vector_size(16)));

#if defined(__AVX512F__)

using Vec = __m512;
constexpr ptrdiff_t kLanes = 16;
using IntVec = int __attribute__((vector_size(64)));
using Lanes = __mmask16;

inline Lanes FirstLanes(int64_t count) {  // any count; the lanes [0, count)
  return static_cast<Lanes>(count >= 16 ? 0xFFFF : count <= 0 ? 0 : (1u << count) - 1);
}
inline Vec Load(const float* p) { return _mm512_loadu_ps(p); }
inline Vec Load(const float* p, Lanes lanes) { return _mm512_maskz_loadu_ps(lanes, p); }
inline void Store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
inline void Store(float* p, Vec v, Lanes lanes) { _mm512_mask_storeu_ps(p, lanes, v); }
inline Vec Broadcast(float x) { return _mm512_set1_ps(x); }
inline Vec MulAdd(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
// The second operand wins when one is NaN. The forms with a mask of ones: g++ 12 warns inside the plain ones.
inline Vec Max(Vec bound, Vec x) { return _mm512_maskz_max_ps(0xFFFF, bound, x); }
inline Vec Min(Vec bound, Vec x) { return _mm512_maskz_min_ps(0xFFFF, bound, x); }
inline Vec Sqrt(Vec x) { return _mm512_maskz_sqrt_ps(0xFFFF, x); }
inline Vec Evens(Vec a, Vec b) {  // the elements 0, 2, 4, ... of a followed by b
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}
// The sum of the quarters of a vector.
inline Quad FoldToQuad(Vec v) {
  return (__builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7)) +
         (__builtin_shufflevector(v, v, 8, 9, 10, 11) + __builtin_shufflevector(v, v, 12, 13, 14, 15));
}

#elif defined(__AVX2__)

using Vec = __m256;
constexpr ptrdiff_t kLanes = 8;
using IntVec = int __attribute__((vector_size(32)));
struct Lanes {
  int64_t count;
};

inline Lanes FirstLanes(int64_t count) { return {count}; }
inline __m256i LaneMask(Lanes lanes) {
  const int count = static_cast<int>(lanes.count);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline Vec Load(const float* p) { return _mm256_loadu_ps(p); }
inline Vec Load(const float* p, Lanes lanes) {
  if (lanes.count >= kLanes) return Load(p);
  return lanes.count <= 0 ? _mm256_setzero_ps() : _mm256_maskload_ps(p, LaneMask(lanes));
}
inline void Store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
inline void Store(float* p, Vec v, Lanes lanes) {
  if (lanes.count >= kLanes)
    Store(p, v);
  else if (lanes.count > 0)
    _mm256_maskstore_ps(p, LaneMask(lanes), v);
}
inline Vec Broadcast(float x) { return _mm256_set1_ps(x); }
inline Vec MulAdd(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec Max(Vec bound, Vec x) { return _mm256_max_ps(bound, x); }
inline Vec Min(Vec bound, Vec x) { return _mm256_min_ps(bound, x); }
inline Vec Sqrt(Vec x) { return _mm256_sqrt_ps(x); }
inline Vec Evens(Vec a, Vec b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14); }
inline Quad FoldToQuad(Vec v) {
  return __builtin_shufflevector(v, v, 0, 1, 2, 3) + __builtin_shufflevector(v, v, 4, 5, 6, 7);
}

#else

using Vec = float __attribute__((vector_size(16)));
constexpr ptrdiff_t kLanes = 4;
using IntVec = int __attribute__((vector_size(16)));
struct Lanes {
  int64_t count;
};

inline Lanes FirstLanes(int64_t count) { return {count}; }
inline Vec Load(const float* p) {
  Vec v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline Vec Load(const float* p, Lanes lanes) {
  if (lanes.count >= kLanes) return Load(p);
  Vec v = {};
  for (int i = 0; i < lanes.count; ++i) v[i] = p[i];
  return v;
}
inline void Store(float* p, Vec v) { std::memcpy(p, &v, sizeof v); }
inline void Store(float* p, Vec v, Lanes lanes) {
  if (lanes.count >= kLanes) return Store(p, v);
  for (int i = 0; i < lanes.count; ++i) p[i] = v[i];
}
inline Vec Broadcast(float x) { return Vec{x, x, x, x}; }
inline Vec MulAdd(Vec a, Vec b, Vec c) { return a * b + c; }
inline Vec Max(Vec bound, Vec x) { return x < bound ? bound : x; }
inline Vec Min(Vec bound, Vec x) { return x > bound ? bound : x; }
inline Vec Sqrt(Vec x) {
  for (int i = 0; i < kLanes; ++i) x[i] = __builtin_sqrtf(x[i]);
  return x;
}
inline Vec Evens(Vec a, Vec b) { return __builtin_shufflevector(a, b, 0, 2, 4, 6); }
inline Quad FoldToQuad(Vec v) { return v; }

#endif

// kLanes numbers of 16 bits as floats: bfloat16 is the upper half of a float.
inline Vec LoadBFloat16(const std::uint16_t* p) {
#if defined(__AVX512F__)
  const __m512i wide = _mm512_maskz_cvtepu16_epi32(0xFFFF, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xFFFF, wide, 16));
#elif defined(__AVX2__)
  const __m256i wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  return _mm256_castsi256_ps(_mm256_slli_epi32(wide, 16));
#else
  IntVec bits = {};
  for (int i = 0; i < kLanes; ++i) bits[i] = static_cast<int>(static_cast<std::uint32_t>(p[i]) << 16);
  Vec v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
#endif
}
inline Vec LoadFloat16(const std::uint16_t* p) {
#if defined(__AVX512F__)
  return _mm512_maskz_cvtph_ps(0xFFFF, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
#elif defined(__AVX2__)
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
#else
  // Exponent and fraction move to their places; a denormal is its fraction times 2^-24. No float on the way is
  // denormal, which the CPU may be told to take for 0. Infinity and NaN have the largest exponent of both formats.
  Vec v = {};
  for (int i = 0; i < kLanes; ++i) {
    const std::uint32_t half = p[i];
    const std::uint32_t magnitude = (half & 0x7FFFu) << 13;
    float x = static_cast<float>(static_cast<int>(half & 0x3FFu)) * 0x1p-24f;
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    if (magnitude >= 0x00800000u) bits = magnitude + 0x38000000u;
    if (magnitude >= 0x0F800000u) bits = magnitude | 0x7F800000u;
    bits |= (half & 0x8000u) << 16;
    std::memcpy(&x, &bits, sizeof x);
    v[i] = x;
  }
  return v;
#endif
}

inline float Sum(Vec v) {
  const Quad q = FoldToQuad(v);
  return (q[0] + q[2]) + (q[1] + q[3]);
}

inline void Transpose(Quad (&r)[4]) {
  const Quad a = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5), b = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5);
  const Quad c = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7), d = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(a, b, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(a, b, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(c, d, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(c, d, 2, 3, 6, 7);
}

// Of every four lanes of a, then of b, the first and third (kFirst = 0), or the second and fourth (1).
template <ptrdiff_t kFirst, ptrdiff_t... I>
inline Vec EverySecond(Vec a, Vec b, std::integer_sequence<ptrdiff_t, I...>) {
  return __builtin_shufflevector(a, b, (I / 4 * 4 + I % 2 * 2 + kFirst + I % 4 / 2 * kLanes)...);
}
inline Vec SumNeighbours(Vec a, Vec b) {
  constexpr std::make_integer_sequence<ptrdiff_t, kLanes> kAll;
  return EverySecond<0>(a, b, kAll) + EverySecond<1>(a, b, kAll);
}

// The sums of the lanes of four vectors, which share one vector as early as they can.
inline Quad SumLanes(Vec a, Vec b, Vec c, Vec d) {
  return FoldToQuad(SumNeighbours(SumNeighbours(a, b), SumNeighbours(c, d)));
}

// Stores the first `count` of four numbers, 1 to 4, without a call for a size that the compiler does not know.
inline void StoreFirst(float* p, Quad v, int64_t count) {
  if (count == 4) {
    std::memcpy(p, &v, sizeof v);
    return;
  }
  for (int64_t i = 0; i < count; ++i) p[i] = v[i];
}

// The compiler must make this value, and knows nothing of it afterwards: no operation is fused across it or folded
// away.
inline void KeepInRegister(Vec& v) {
#if defined(__AVX512F__)
  asm("" : "+v"(v));
#elif defined(__x86_64__)
  asm("" : "+x"(v));
#else
  asm("" : "+m"(v));
#endif
}

// Tells the cache to fetch the line of p into level 2.
inline void Prefetch(const void* p) { __builtin_prefetch(p, 0, 2); }
inline void PrefetchForWriting(void* p) { __builtin_prefetch(p, 1, 3); }

// Swaps the off-diagonal blocks of size D in every pair of rows that lie D apart: one step of a transposition.
template <ptrdiff_t D, ptrdiff_t... I>
inline void SwapBlocks(Vec& low, Vec& high, std::integer_sequence<ptrdiff_t, I...>) {
  const Vec a = low, b = high;
  low = __builtin_shufflevector(a, b, ((I & D) == 0 ? I : kLanes + I - D)...);
  high = __builtin_shufflevector(a, b, ((I & D) == 0 ? I + D : kLanes + I)...);
}
template <ptrdiff_t D>
inline void SwapBlocks(Vec (&r)[kLanes]) {
  if constexpr (D < kLanes) {
#pragma GCC unroll 16
    for (ptrdiff_t i = 0; i < kLanes; ++i)
      if ((i & D) == 0) SwapBlocks<D>(r[i], r[i + D], std::make_integer_sequence<ptrdiff_t, kLanes>());
    SwapBlocks<2 * D>(r);
  }
}

// dst[c * dst_stride + r] = src[r * src_stride + c] for r and c < kLanes.
inline void TransposeBlock(const float* src, ptrdiff_t src_stride, float* dst, ptrdiff_t dst_stride) {
  Vec r[kLanes];
#pragma GCC unroll 16
  for (ptrdiff_t i = 0; i < kLanes; ++i) r[i] = Load(src + i * src_stride);
  SwapBlocks<1>(r);
#pragma GCC unroll 16
  for (ptrdiff_t i = 0; i < kLanes; ++i) Store(dst + i * dst_stride, r[i]);
}

// R rows of kLanes to kLanes runs of R, one after the other: dst[c * R + r] = v[r][c]. `Index` counts the floats of the
// vector of dst that begins at kFirst.
template <ptrdiff_t R, ptrdiff_t S, ptrdiff_t kFirst, ptrdiff_t... Index>
inline Vec InterleaveOne(Vec made, const Vec (&v)[R], std::integer_sequence<ptrdiff_t, Index...> all) {
  if constexpr (S == R) {
    return made;
  } else {
    made = __builtin_shufflevector(
        made, v[S],
        ((kFirst + Index) % R == S ? kLanes + (kFirst + Index) / R : (S == 1 ? (kFirst + Index) / R : Index))...);
    return InterleaveOne<R, S + 1, kFirst>(made, v, all);
  }
}
template <ptrdiff_t R, ptrdiff_t... J>
inline void Interleave(const Vec (&v)[R], float* dst, std::integer_sequence<ptrdiff_t, J...>) {
  (Store(dst + J * kLanes, InterleaveOne<R, 1, J * kLanes>(v[0], v, std::make_integer_sequence<ptrdiff_t, kLanes>())),
   ...);
}
template <ptrdiff_t R>
inline void Interleave(const Vec (&v)[R], float* dst) {
  Interleave(v, dst, std::make_integer_sequence<ptrdiff_t, R>());
}

// dst[c * dst_stride + r] = src[r * src_stride + c] for r and c in 0..3.
inline void Transpose4x4(const float* src, ptrdiff_t src_stride, float* dst, ptrdiff_t dst_stride) {
  Quad r[4];
  for (ptrdiff_t i = 0; i < 4; ++i) std::memcpy(&r[i], src + i * src_stride, sizeof(Quad));
  Transpose(r);
  for (ptrdiff_t i = 0; i < 4; ++i) std::memcpy(dst + i * dst_stride, &r[i], sizeof(Quad));
}

// dst[c * dst_stride + r] = src[r * src_stride + c], r < rows, c < columns: what is left beside whole blocks.
// NOLINTNEXTLINE(readability-function-size): a matrix and where it goes
inline void TransposeRest(int64_t rows, int64_t columns, const float* src, ptrdiff_t src_stride, float* dst,
                          ptrdiff_t dst_stride) {
#if defined(__AVX512F__)
  for (int64_t r = 0; r < rows; r += kLanes) {
    const Lanes high = FirstLanes(rows - r);
    for (int64_t c = 0; c < columns; c += kLanes) {
      const Lanes wide = FirstLanes(columns - c);
      Vec v[kLanes];
#pragma GCC unroll 16
      for (ptrdiff_t i = 0; i < kLanes; ++i)
        v[i] = Load(src + (r + i < rows ? r + i : rows - 1) * src_stride + c, wide);
      SwapBlocks<1>(v);
#pragma GCC unroll 16
      for (ptrdiff_t i = 0; i < kLanes; ++i)
        if (c + i < columns) Store(dst + (c + i) * dst_stride + r, v[i], high);
    }
  }
#else
  const int64_t whole_rows = rows - rows % 4, whole_columns = columns - columns % 4;
  for (int64_t r = 0; r < whole_rows; r += 4) {
    for (int64_t c = 0; c < whole_columns; c += 4)
      Transpose4x4(src + r * src_stride + c, src_stride, dst + c * dst_stride + r, dst_stride);
    for (int64_t c = whole_columns; c < columns; ++c)
      for (int64_t i = r; i < r + 4; ++i) dst[c * dst_stride + i] = src[i * src_stride + c];
  }
  for (int64_t r = whole_rows; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) dst[c * dst_stride + r] = src[r * src_stride + c];
#endif
}

}  // namespace sardonyx::kernels::SDX_ISA
