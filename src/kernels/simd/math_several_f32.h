// kernels/simd/math_several_f32.h - sigmoid and tanh of several vectors as quotients of polynomials, each operation for
// all vectors before the next: one vector after the other would leave a CPU waiting for the chains of the polynomials.
//
// Include only from *.isa.cpp. A product of two functions takes one division (ProductOf). The fit is
// tanh x = x p(x^2) / q(x^2) on [-9, 9], p and q of degree 4, of minimax relative error (linearized least squares,
// reweighted, in float64 on 4,000 Chebyshev points: 2.1e-8); the other error is rounding. Absolute errors: 4e-7, tested
// in recurrent/cell_f32_test.cpp. Beyond 9 (sigmoid: 18) the values stay what they are there. NaN stays NaN.
#pragma once

#include "kernels/simd/math_f32.h"
#include "kernels/simd/several_f32.h"

namespace sardonyx::kernels::SDX_ISA {

// The value over / under; `under` is at least 1/2 and finite.
template <int V>
struct Ratio {
  Several<V> over, under;
};

template <int V>
[[gnu::always_inline]] inline Several<V> Clamp(const Several<V>& x, float limit) {
  return ForEach<V>([&](int i) { return Min(Broadcast(limit), Max(Broadcast(-limit), x.v[i])); });
}

// c[0] + c[1] u + ... + c[4] u^4.
template <int V>
[[gnu::always_inline]] inline Several<V> Quartic(const Several<V>& u, const float (&c)[5]) {
  Several<V> y = ForEach<V>([&](int i) { return MulAdd(Broadcast(c[4]), u.v[i], Broadcast(c[3])); });
#pragma GCC unroll 4
  for (int k = 2; k >= 0; --k) y = ForEach<V>([&](int i) { return MulAdd(y.v[i], u.v[i], Broadcast(c[k])); });
  return y;
}

template <int V>
[[gnu::always_inline]] inline Ratio<V> TanhRatio(const Several<V>& x) {
  const Several<V> y = Clamp(x, 9), u = ForEach<V>([&](int i) { return y.v[i] * y.v[i]; });
  const Several<V> p = Quartic(u, {1, 0.133810282f, 0.0034955903f, 2.06091154e-05f, 1.3354704e-08f});
  const Several<V> q = Quartic(u, {1, 0.467143416f, 0.0258769896f, 0.000328563823f, 7.77657647e-07f});
  return {ForEach<V>([&](int i) { return Min(q.v[i], Max(-q.v[i], y.v[i] * p.v[i])); }), q};
}

// (1 + tanh(x / 2)) / 2: the factors 1/2 are in the coefficients.
template <int V>
[[gnu::always_inline]] inline Ratio<V> SigmoidRatio(const Several<V>& x) {
  const Several<V> y = Clamp(x, 18), u = ForEach<V>([&](int i) { return y.v[i] * y.v[i]; });
  const Several<V> p = Quartic(u, {0.25f, 0.00836314261f, 5.46185984e-05f, 8.0504357e-08f, 1.30417031e-11f});
  const Several<V> half = Quartic(u, {0.5f, 0.0583929271f, 0.000808655925f, 2.56690487e-06f, 1.51886259e-09f});
  const Several<V> q = ForEach<V>([&](int i) { return half.v[i] + half.v[i]; });
  return {ForEach<V>([&](int i) { return Max(Broadcast(0), Min(q.v[i], MulAdd(y.v[i], p.v[i], half.v[i]))); }), q};
}

template <int V>
[[gnu::always_inline]] inline Several<V> ValueOf(const Ratio<V>& r) {
  return ForEach<V>([&](int i) { return r.over.v[i] * ReciprocalFromOne(r.under.v[i]); });
}

template <int V>
[[gnu::always_inline]] inline Several<V> ProductOf(const Ratio<V>& a, const Ratio<V>& b) {
  return ForEach<V>(
      [&](int i) { return (a.over.v[i] * b.over.v[i]) * ReciprocalFromOne(a.under.v[i] * b.under.v[i]); });
}

}  // namespace sardonyx::kernels::SDX_ISA
