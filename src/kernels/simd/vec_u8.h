// kernels/simd/vec_u8.h - from 32-bit sums and floats to bytes: what quantizing kernels end with.
//
// Include only from *.isa.cpp.
#pragma once

#include "kernels/simd/vec_i32.h"

namespace sardonyx::kernels::SDX_ISA {

inline Vec ToFloat(UintVec sums) { return __builtin_convertvector((IntVec)sums, Vec); }

// Rounds to whole numbers within bounds, halves to even, and adds the zero point.
class ByteBounds {
 public:
  // Bounds before the zero point is added; zero as bits of a 32-bit integer.
  ByteBounds(float low, float high, std::uint32_t zero)
      : low_(Broadcast(low)), high_(Broadcast(high)), zero_(BroadcastInt(zero - kRounderBits)) {}
  // In the low byte of each lane; NaN gives no particular value.
  UintVec Quantize(Vec x) const {
    const Vec inside = Min(high_, Max(low_, x));
    return (UintVec)(inside + Broadcast(kRounder)) + zero_;
  }

 private:
  // What float additions round to a whole number, halves to even, for |x| < 2^22: it stands in the low bits of the sum.
  static constexpr float kRounder = 12582912.0f;
  static constexpr std::uint32_t kRounderBits = 0x4B400000;
  Vec low_, high_;
  UintVec zero_;
};

// Stores the low byte of the first lanes, `count` of them if that is less than all.
inline void StoreAsBytes(std::uint8_t* to, UintVec values, ptrdiff_t count) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm512_maskz_cvtepi32_epi8(0xFFFF, (__m512i)values);
  if (count >= kLanes) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  } else if (count > 0) {
    _mm_mask_storeu_epi8(to, static_cast<__mmask16>((1u << count) - 1), bytes);
  }
#else
  using Narrow __attribute__((vector_size(kLanes))) = std::uint8_t;
  const Narrow bytes = __builtin_convertvector(values, Narrow);
  if (count >= kLanes) {
    std::memcpy(to, &bytes, sizeof bytes);
  } else {
    for (ptrdiff_t i = 0; i < count; ++i) to[i] = bytes[i];
  }
#endif
}

}  // namespace sardonyx::kernels::SDX_ISA
