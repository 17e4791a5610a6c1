// kernels/simd/math_f32.h - exp, sigmoid, tanh, softplus and the normal distribution on a Vec or Several, for fused
// activations.
//
// Include only from *.isa.cpp. Polynomials are minimax fits of relative error (iteratively reweighted least squares in
// float64 on 4,000 Chebyshev points); the fit errors are below 4e-8, the rest is rounding. NaN stays NaN.
#pragma once

#include "kernels/simd/exp2_f32.h"
#include "kernels/simd/several_f32.h"

namespace sardonyx::kernels::SDX_ISA {

inline Vec Abs(Vec x) {
  IntVec bits;
  std::memcpy(&bits, &x, sizeof x);
  bits &= 0x7FFFFFFF;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
template <int V>
[[gnu::always_inline]] inline Several<V> Abs(const Several<V>& x) {
  return Each([](Vec v) { return Abs(v); }, x);
}

// The polynomial of e^r - 1 - r, over r^2.
template <typename V>
[[gnu::always_inline]] inline V ExpRest(V r) {
  V q = Broadcast(0.0013814189f) * r + Broadcast(0.0083689140f);
  q = q * r + Broadcast(0.041668408f);
  q = q * r + Broadcast(0.16666520f);
  return q * r + Broadcast(0.49999994f);
}

#if defined(__AVX512F__)

// e^x, about 1e-38 below -87.3 and infinite above 88.8. Relative error 2e-7.
template <typename V>
[[gnu::always_inline]] inline V Exp(V v) {
  const V x = Min(Broadcast(89.0f), Max(Broadcast(-87.3f), v));  // a NaN stays one through all that follows
  const auto round = [](Vec a) { return _mm512_maskz_roundscale_ps(0xFFFF, a, 8); };  // to nearest, no exception
  const V n = Each(round, x * Broadcast(1.44269504f));
  const V r = x - n * Broadcast(0.693145752f) - n * Broadcast(1.42860677e-6f);  // ln 2 in two parts
  const V q = ExpRest(r);
  const auto scale = [](Vec p, Vec exponent) { return _mm512_maskz_scalef_ps(0xFFFF, p, exponent); };
  return Each(scale, q * (r * r) + r + Broadcast(1.0f), n);
}

// 1 / x for x >= 1, infinity included: an estimate and one step of Newton's method. Relative error 2e-7.
inline Vec ReciprocalFromOne(Vec x) {
  const Vec y = _mm512_maskz_rcp14_ps(0xFFFF, x);
  const Vec rest = Broadcast(1.0f) - x * y;
  return _mm512_mask_fmadd_ps(y, _mm512_cmp_ps_mask(x, Broadcast(__builtin_inff()), _CMP_NEQ_UQ), rest, y);
}

#else

// e^x, about 1e-38 below -87.3 and infinite above 88.7. Relative error 2e-7.
template <typename V>
[[gnu::always_inline]] inline V Exp(V v) {
  const V x = Min(Broadcast(88.7f), Max(Broadcast(-87.3f), v));
  const Vec magic = Broadcast(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  const V shifted = x * Broadcast(1.44269504f) + magic;
  const V n = shifted - magic;
  const V r = x - n * Broadcast(0.693145752f) - n * Broadcast(1.42860677e-6f);  // ln 2 in two parts
  const V q = ExpRest(r);
  const auto scale = [](Vec p, Vec integer, Vec given) {
    IntVec exponent, bits;
    std::memcpy(&exponent, &integer, sizeof integer);
    std::memcpy(&bits, &p, sizeof p);
    bits += exponent << 23;  // the integer n sits in the low bits of `shifted`
    Vec y;
    std::memcpy(&y, &bits, sizeof y);
    const Vec finite = given > Broadcast(88.7f) ? Broadcast(__builtin_inff()) : y;
    return given == given ? finite : given;
  };
  return Each(scale, q * r * r + r + Broadcast(1.0f), shifted, v);
}

// 1 / x for x >= 1, infinity included.
inline Vec ReciprocalFromOne(Vec x) { return Broadcast(1.0f) / x; }

#endif

template <int V>
[[gnu::always_inline]] inline Several<V> ReciprocalFromOne(const Several<V>& x) {
  return Each([](Vec v) { return ReciprocalFromOne(v); }, x);
}

template <typename V>
[[gnu::always_inline]] inline V Sigmoid(V x) {
  return ReciprocalFromOne(Broadcast(1.0f) + Exp(-x));
}

template <typename V>
[[gnu::always_inline]] inline V Tanh(V x) {
  const V a = Abs(x), u = x * x;
  V p = Broadcast(-0.0055286246f) * u + Broadcast(0.020483306f);
  p = p * u + Broadcast(-0.053692963f);
  p = p * u + Broadcast(0.13330899f);
  p = p * u + Broadcast(-0.33333263f);
  const V small = x + x * u * p;  // fitted on [0, 0.65]
  const V large = Broadcast(1.0f) - Broadcast(2.0f) * ReciprocalFromOne(Exp(a + a) + Broadcast(1.0f));
  const auto choose = [](Vec size, Vec v, Vec near, Vec far) {
    return size < Broadcast(0.625f) ? near : v < Broadcast(0.0f) ? -far : far;
  };
  return Each(choose, a, x, small, large);
}

// x * P(X < x) of the standard normal distribution: max(x, 0) - |x| P(X < -|x|). With u = 1 / (1 + 0.35 |x|),
// P(X < -|x|) = e^(-x^2 / 2) u p(u). Beyond 40 nothing of it is left.
template <typename V>
[[gnu::always_inline]] inline V Gelu(V x) {
  const V a = Min(Broadcast(40.0f), Abs(x));
  const V u = ReciprocalFromOne(Broadcast(1.0f) + Broadcast(0.35f) * a);
  V p = Broadcast(-0.029146139f) * u + Broadcast(0.14397271f);
  p = p * u + Broadcast(-0.25571632f);
  p = p * u + Broadcast(0.15917650f);
  p = p * u + Broadcast(-0.023111418f);
  p = p * u + Broadcast(0.10550866f);
  p = p * u + Broadcast(0.11983270f);
  p = p * u + Broadcast(0.13986190f);
  p = p * u + Broadcast(0.13962141f);
  const V tail = Exp2OfNegative(Broadcast(-0.72134752f) * a * a) * (u * p);
  return Max(Broadcast(0.0f), x) - a * tail;
}

// x below 0: alpha (e^x - 1). Near 0, where the difference would cancel, with the polynomial of Exp.
template <typename V>
[[gnu::always_inline]] inline V Elu(V x, Vec alpha) {
  const V q = ExpRest(x);
  const V near = q * (x * x) + x, far = Exp(x) - Broadcast(1.0f);
  const auto choose = [alpha](Vec v, Vec close, Vec distant) {
    return v < Broadcast(0.0f) ? alpha * (v > Broadcast(-0.3466f) ? close : distant) : v;
  };
  return Each(choose, x, near, far);
}

// ln(1 + e^x) = max(x, 0) + ln(1 + t), t = e^-|x|; ln(1 + t) = 2 atanh(s), s = t / (2 + t) <= 1/3, by its series, whose
// terms from s^17 on are below 2e-9 of the sum.
template <typename V>
[[gnu::always_inline]] inline V Softplus(V x) {
  const V t = Exp(-Abs(x)), s = t / (Broadcast(2.0f) + t), u = s * s;
  V p = Broadcast(1.0f / 15) * u + Broadcast(1.0f / 13);
  p = p * u + Broadcast(1.0f / 11);
  p = p * u + Broadcast(1.0f / 9);
  p = p * u + Broadcast(1.0f / 7);
  p = p * u + Broadcast(1.0f / 5);
  p = p * u + Broadcast(1.0f / 3);
  return Max(Broadcast(0.0f), x) + Broadcast(2.0f) * (s + s * u * p);
}

// x / (1 + |x|), and 1 for infinity.
template <typename V>
[[gnu::always_inline]] inline V Softsign(V x) {
  const Vec most = Broadcast(3e38f);
  const V finite = Max(-most, Min(most, x));
  return finite / (Broadcast(1.0f) + Abs(finite));
}

// The GELU of the tanh form: (1 + tanh z) / 2 is sigmoid(2 z).
template <typename V>
[[gnu::always_inline]] inline V GeluTanh(V x) {
  return x * Sigmoid(x * (Broadcast(1.5957691216f) + Broadcast(0.0713548163f) * x * x));
}

}  // namespace sardonyx::kernels::SDX_ISA
