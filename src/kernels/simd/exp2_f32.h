// kernels/simd/exp2_f32.h - 2^x on a Vec or Several, for the softmax of attention. Include only from *.isa.cpp.
#pragma once

#include "kernels/simd/several_f32.h"

namespace sardonyx::kernels::SDX_ISA {

#if defined(__AVX512F__)
inline Vec RoundToInteger(Vec x) {
  return _mm512_maskz_roundscale_ps(0xFFFF, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Vec TimesPowerOfTwo(Vec y, Vec n) { return _mm512_maskz_scalef_ps(0xFFFF, y, n); }
constexpr float kLeastExponent = -160;  // 2^-160 underflows to 0
#else
inline Vec RoundToInteger(Vec x) {
  const Vec magic = Broadcast(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  return (x + magic) - magic;
}
// Results below the normal numbers become 0.
inline Vec TimesPowerOfTwo(Vec y, Vec n) {
  const IntVec exponent = __builtin_convertvector(n, IntVec);
  IntVec bits;
  std::memcpy(&bits, &y, sizeof y);
  bits += exponent << 23;
  Vec scaled;
  std::memcpy(&scaled, &bits, sizeof bits);
  return n < Broadcast(-125.0f) ? Broadcast(0.0f) : n == n ? scaled : n;
}
constexpr float kLeastExponent = -126;
#endif

// 2^x for x <= 0; exactly 0 at -infinity, NaN stays NaN. Relative error 1e-7 where the result is a normal number
// (minimax polynomial of degree 5 on [-1/2, 1/2], fitted in float64 by iteratively reweighted least squares).
template <typename V>
[[gnu::always_inline]] inline V Exp2OfNegative(V x) {
  const V t = Max(Broadcast(kLeastExponent), x);
  const V n = Each([](Vec v) { return RoundToInteger(v); }, t), f = t - n;
  V p = Broadcast(0.00132764718f) * f + Broadcast(0.00967554133f);
  p = p * f + Broadcast(0.0555071327f);
  p = p * f + Broadcast(0.240221197f);
  p = p * f + Broadcast(0.693146967f);
  p = p * f + Broadcast(1.0f);
  return Each([](Vec y, Vec exponent) { return TimesPowerOfTwo(y, exponent); }, p, n);
}

}  // namespace sardonyx::kernels::SDX_ISA
