// kernels/simd/bf16.h - floats as bf16, alone and in pairs of rows, and the dot products of pairs.
//
// Include only from *.isa.cpp. Units for bf16 come with vectors of AVX-512; other ISAs never call these functions.
#pragma once

#include <cstring>

#include "kernels/simd/vec_i32.h"

namespace sardonyx::kernels::SDX_ISA {

#if defined(__AVX512F__)

constexpr bool kMayHaveBf16 = true;

// sum[i] += a[2 i] * b[2 i] + a[2 i + 1] * b[2 i + 1] of bf16, on VDPBF16PS: the caller asks for the unit. Written as
// asm, so no compiler flag is needed.
inline Vec DotPairs(Vec sum, UintVec a, UintVec b) {
  asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  return sum;
}

// x rounded to bf16, halves away from zero, in the upper half of each lane. NaN stays NaN.
inline UintVec UpperBf16(Vec x) {
  const UintVec bits = (UintVec)x;
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const UintVec rounded = bits + BroadcastInt(0x8000);
  return (UintVec)_mm512_mask_or_epi32((__m512i)rounded, nan, (__m512i)bits, (__m512i)BroadcastInt(0x00400000)) &
         BroadcastInt(0xFFFF0000);
}

// Whether numbers seen so far were bf16 already.
class Exactness {
 public:
  void Add(Vec x) { low_ |= (UintVec)x; }
  bool exact() const {
    std::uint32_t lanes[kLanes], all = 0;
    std::memcpy(lanes, &low_, sizeof lanes);
    for (const std::uint32_t lane : lanes) all |= lane;
    return (all & 0xFFFF) == 0;
  }

 private:
  UintVec low_ = {};
};

inline bool RoundRow(std::int64_t count, const float* src, std::uint16_t* dst) {
  using Halves __attribute__((vector_size(64))) = std::uint16_t;
  Exactness seen;
  for (std::int64_t i = 0; i < count; i += 2 * kLanes) {
    const std::int64_t rest = count - i;
    const Vec x = Load(src + i, FirstLanes(rest)), y = Load(src + i + kLanes, FirstLanes(rest - kLanes));
    seen.Add(x), seen.Add(y);
    const Halves halves =
        __builtin_shufflevector((Halves)UpperBf16(x), (Halves)UpperBf16(y), 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23,
                                25, 27, 29, 31, 33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63);
    std::memcpy(dst + i, &halves, static_cast<std::size_t>(2 * (rest < 2 * kLanes ? rest : 2 * kLanes)));
  }
  return seen.exact();
}

// Two vectors of columns: dst[(i / 2) * 2 * columns + 2 * j + i % 2] = b[i][j].
inline bool PairPanel(std::int64_t k, const float* b, std::ptrdiff_t b_stride, std::int64_t columns,
                      std::uint16_t* dst) {
  Exactness seen;
  const Lanes lanes[2] = {FirstLanes(columns), FirstLanes(columns - kLanes)};
  for (std::int64_t i = 0; i < k; i += 2, b += 2 * b_stride) {
#pragma GCC unroll 2
    for (std::ptrdiff_t v = 0; v < 2; ++v, dst += 2 * kLanes) {
      const Vec x = Load(b + v * kLanes, lanes[v]);
      const Vec y = i + 1 < k ? Load(b + b_stride + v * kLanes, lanes[v]) : Broadcast(0);
      seen.Add(x), seen.Add(y);
      const UintVec pairs = (UpperBf16(x) >> 16) | UpperBf16(y);
      std::memcpy(dst, &pairs, sizeof pairs);
    }
  }
  return seen.exact();
}

inline void PairHalves(std::int64_t k, const std::uint16_t* b, std::uint16_t* dst) {
  using Halves __attribute__((vector_size(64))) = std::uint16_t;
  for (std::int64_t i = 0; i < k; i += 2, b += 4 * kLanes, dst += 4 * kLanes) {
    Halves x, y = {};
    std::memcpy(&x, b, sizeof x);
    if (i + 1 < k) std::memcpy(&y, b + 2 * kLanes, sizeof y);
    const Halves low = __builtin_shufflevector(x, y, 0, 32, 1, 33, 2, 34, 3, 35, 4, 36, 5, 37, 6, 38, 7, 39, 8, 40, 9,
                                               41, 10, 42, 11, 43, 12, 44, 13, 45, 14, 46, 15, 47);
    const Halves high = __builtin_shufflevector(x, y, 16, 48, 17, 49, 18, 50, 19, 51, 20, 52, 21, 53, 22, 54, 23, 55,
                                                24, 56, 25, 57, 26, 58, 27, 59, 28, 60, 29, 61, 30, 62, 31, 63);
    std::memcpy(dst, &low, sizeof low);
    std::memcpy(dst + 2 * kLanes, &high, sizeof high);
  }
}

#else

constexpr bool kMayHaveBf16 = false;

inline Vec DotPairs(Vec sum, UintVec, UintVec) { return sum; }
inline bool RoundRow(std::int64_t, const float*, std::uint16_t*) { return false; }
inline bool PairPanel(std::int64_t, const float*, std::ptrdiff_t, std::int64_t, std::uint16_t*) { return false; }
inline void PairHalves(std::int64_t, const std::uint16_t*, std::uint16_t*) {}

#endif

}  // namespace sardonyx::kernels::SDX_ISA
