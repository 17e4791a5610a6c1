// kernels/simd/math_f32.h - exp, sigmoid, tanh, softplus and the normal distribution on Vec, for fused activations.
//
// Include only from *.isa.cpp. Polynomials are minimax fits of relative error (iteratively reweighted least squares in
// float64 on 4,000 Chebyshev points); the fit errors are below 4e-8, the rest is rounding. NaN stays NaN.
#pragma once

#include "kernels/simd/exp2_f32.h"
#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {

inline Vec Abs(Vec x) {
  IntVec bits;
  std::memcpy(&bits, &x, sizeof x);
  bits &= 0x7FFFFFFF;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

#if defined(__AVX512F__)

// e^x, about 1e-38 below -87.3 and infinite above 88.8. Relative error 2e-7.
inline Vec Exp(Vec v) {
  const Vec x = Min(Broadcast(89.0f), Max(Broadcast(-87.3f), v));  // a NaN stays one through all that follows
  const Vec n = _mm512_maskz_roundscale_ps(0xFFFF, x * Broadcast(1.44269504f), 8);  // to nearest, no exception
  const Vec r = x - n * Broadcast(0.693145752f) - n * Broadcast(1.42860677e-6f);    // ln 2 in two parts
  Vec q = Broadcast(0.0013814189f);
  q = q * r + Broadcast(0.0083689140f);
  q = q * r + Broadcast(0.041668408f);
  q = q * r + Broadcast(0.16666520f);
  q = q * r + Broadcast(0.49999994f);
  return _mm512_maskz_scalef_ps(0xFFFF, q * (r * r) + r + Broadcast(1.0f), n);
}

// 1 / x for x >= 1, infinity included: an estimate and one step of Newton's method. Relative error 2e-7.
inline Vec ReciprocalFromOne(Vec x) {
  const Vec y = _mm512_maskz_rcp14_ps(0xFFFF, x);
  const Vec rest = Broadcast(1.0f) - x * y;
  return _mm512_mask_fmadd_ps(y, _mm512_cmp_ps_mask(x, Broadcast(__builtin_inff()), _CMP_NEQ_UQ), rest, y);
}

#else

// e^x, about 1e-38 below -87.3 and infinite above 88.7. Relative error 2e-7.
inline Vec Exp(Vec v) {
  const Vec x = Min(Broadcast(88.7f), Max(Broadcast(-87.3f), v));
  const Vec magic = Broadcast(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const Vec shifted = x * Broadcast(1.44269504f) + magic;
  const Vec n = shifted - magic;
  const Vec r = x - n * Broadcast(0.693145752f) - n * Broadcast(1.42860677e-6f);  // ln 2 in two parts
  Vec q = Broadcast(0.0013814189f);
  q = q * r + Broadcast(0.0083689140f);
  q = q * r + Broadcast(0.041668408f);
  q = q * r + Broadcast(0.16666520f);
  q = q * r + Broadcast(0.49999994f);
  const Vec p = q * r * r + r + Broadcast(1.0f);
  IntVec exponent, bits;
  std::memcpy(&exponent, &shifted, sizeof shifted);
  std::memcpy(&bits, &p, sizeof p);
  bits += exponent << 23;  // the integer n sits in the low bits of `shifted`
  Vec y;
  std::memcpy(&y, &bits, sizeof y);
  const Vec finite = v > Broadcast(88.7f) ? Broadcast(__builtin_inff()) : y;
  return v == v ? finite : v;
}

// 1 / x for x >= 1, infinity included.
inline Vec ReciprocalFromOne(Vec x) { return Broadcast(1.0f) / x; }

#endif

inline Vec Sigmoid(Vec x) { return ReciprocalFromOne(Broadcast(1.0f) + Exp(-x)); }

inline Vec Tanh(Vec x) {
  const Vec a = Abs(x), u = x * x;
  Vec p = Broadcast(-0.0055286246f);
  p = p * u + Broadcast(0.020483306f);
  p = p * u + Broadcast(-0.053692963f);
  p = p * u + Broadcast(0.13330899f);
  p = p * u + Broadcast(-0.33333263f);
  const Vec small = x + x * u * p;  // fitted on [0, 0.65]
  const Vec large = Broadcast(1.0f) - Broadcast(2.0f) * ReciprocalFromOne(Exp(a + a) + Broadcast(1.0f));
  return a < Broadcast(0.625f) ? small : x < Broadcast(0.0f) ? -large : large;
}

// x * P(X < x) of the standard normal distribution: max(x, 0) - |x| P(X < -|x|). With u = 1 / (1 + 0.35 |x|),
// P(X < -|x|) = e^(-x^2 / 2) u p(u). Beyond 40 nothing of it is left.
inline Vec Gelu(Vec x) {
  const Vec a = Min(Broadcast(40.0f), Abs(x));
  const Vec u = ReciprocalFromOne(Broadcast(1.0f) + Broadcast(0.35f) * a);
  Vec p = Broadcast(-0.029146139f);
  p = p * u + Broadcast(0.14397271f);
  p = p * u + Broadcast(-0.25571632f);
  p = p * u + Broadcast(0.15917650f);
  p = p * u + Broadcast(-0.023111418f);
  p = p * u + Broadcast(0.10550866f);
  p = p * u + Broadcast(0.11983270f);
  p = p * u + Broadcast(0.13986190f);
  p = p * u + Broadcast(0.13962141f);
  const Vec tail = Exp2OfNegative(Broadcast(-0.72134752f) * a * a) * (u * p);
  return Max(Broadcast(0.0f), x) - a * tail;
}

// x below 0: alpha (e^x - 1). Near 0, where the difference would cancel, with the polynomial of Exp.
inline Vec Elu(Vec x, Vec alpha) {
  Vec q = Broadcast(0.0013814189f);
  q = q * x + Broadcast(0.0083689140f);
  q = q * x + Broadcast(0.041668408f);
  q = q * x + Broadcast(0.16666520f);
  q = q * x + Broadcast(0.49999994f);
  const Vec near = q * (x * x) + x, far = Exp(x) - Broadcast(1.0f);
  return x < Broadcast(0.0f) ? alpha * (x > Broadcast(-0.3466f) ? near : far) : x;
}

// ln(1 + e^x) = max(x, 0) + ln(1 + t), t = e^-|x|; ln(1 + t) = 2 atanh(s), s = t / (2 + t) <= 1/3, by its series, whose
// terms from s^17 on are below 2e-9 of the sum.
inline Vec Softplus(Vec x) {
  const Vec t = Exp(-Abs(x)), s = t / (Broadcast(2.0f) + t), u = s * s;
  Vec p = Broadcast(1.0f / 15);
  p = p * u + Broadcast(1.0f / 13);
  p = p * u + Broadcast(1.0f / 11);
  p = p * u + Broadcast(1.0f / 9);
  p = p * u + Broadcast(1.0f / 7);
  p = p * u + Broadcast(1.0f / 5);
  p = p * u + Broadcast(1.0f / 3);
  return Max(Broadcast(0.0f), x) + Broadcast(2.0f) * (s + s * u * p);
}

// x / (1 + |x|), and 1 for infinity.
inline Vec Softsign(Vec x) {
  const Vec most = Broadcast(3e38f), finite = Max(-most, Min(most, x));
  return finite / (Broadcast(1.0f) + Abs(finite));
}

// The GELU of the tanh form: (1 + tanh z) / 2 is sigmoid(2 z).
inline Vec GeluTanh(Vec x) { return x * Sigmoid(x * (Broadcast(1.5957691216f) + Broadcast(0.0713548163f) * x * x)); }

}  // namespace sardonyx::kernels::SDX_ISA
