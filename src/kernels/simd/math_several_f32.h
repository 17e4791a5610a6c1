// kernels/simd/math_several_f32.h - sigmoid and tanh of several vectors, each operation for all of them before the
// next: the chains of exp and division are long, and one vector after the other leaves a CPU waiting for them.
//
// Include only from *.isa.cpp. Formulas and errors are those of math_f32.h.
#pragma once

#include "kernels/simd/math_f32.h"

namespace sardonyx::kernels::SDX_ISA {

template <int V>
struct Several {
  Vec v[V];
};

// f(i) for each of the vectors.
template <int V, typename F>
[[gnu::always_inline]] inline Several<V> ForEach(F f) {
  Several<V> y;
#pragma GCC unroll 4
  for (int i = 0; i < V; ++i) y.v[i] = f(i);
  return y;
}

#if defined(__AVX512F__)

template <int V>
[[gnu::always_inline]] inline Several<V> Exp(const Several<V>& v) {
  return ForEach<V>([&](int i) { return Exp(v.v[i]); });
}

#else

// The steps of Exp(Vec).
template <int V>
[[gnu::always_inline]] inline Several<V> Exp(const Several<V>& v) {
  const Vec magic = Broadcast(12582912.0f);
  const Several<V> shifted = ForEach<V>(
      [&](int i) { return Min(Broadcast(88.7f), Max(Broadcast(-87.3f), v.v[i])) * Broadcast(1.44269504f) + magic; });
  const Several<V> r = ForEach<V>([&](int i) {
    const Vec x = Min(Broadcast(88.7f), Max(Broadcast(-87.3f), v.v[i])), n = shifted.v[i] - magic;
    return x - n * Broadcast(0.693145752f) - n * Broadcast(1.42860677e-6f);
  });
  Several<V> q = ForEach<V>([&](int i) { return Broadcast(0.0013814189f) * r.v[i] + Broadcast(0.0083689140f); });
  const auto go_on = [&](float c) { q = ForEach<V>([&](int i) { return q.v[i] * r.v[i] + Broadcast(c); }); };
  go_on(0.041668408f), go_on(0.16666520f), go_on(0.49999994f);
  const Several<V> p = ForEach<V>([&](int i) { return q.v[i] * r.v[i] * r.v[i] + r.v[i] + Broadcast(1.0f); });
  return ForEach<V>([&](int i) {
    IntVec exponent, bits;
    std::memcpy(&exponent, &shifted.v[i], sizeof exponent);
    std::memcpy(&bits, &p.v[i], sizeof bits);
    bits += exponent << 23;
    Vec y;
    std::memcpy(&y, &bits, sizeof y);
    const Vec finite = v.v[i] > Broadcast(88.7f) ? Broadcast(__builtin_inff()) : y;
    return v.v[i] == v.v[i] ? finite : v.v[i];
  });
}

#endif

template <int V>
[[gnu::always_inline]] inline Several<V> Sigmoid(const Several<V>& x) {
  const Several<V> e = Exp(ForEach<V>([&](int i) { return -x.v[i]; }));
  return ForEach<V>([&](int i) { return ReciprocalFromOne(Broadcast(1.0f) + e.v[i]); });
}

template <int V>
[[gnu::always_inline]] inline Several<V> Tanh(const Several<V>& x) {
  const Several<V> e = Exp(ForEach<V>([&](int i) { return Abs(x.v[i]) + Abs(x.v[i]); }));
  const Several<V> u = ForEach<V>([&](int i) { return x.v[i] * x.v[i]; });
  Several<V> p = ForEach<V>([&](int i) { return Broadcast(-0.0055286246f) * u.v[i] + Broadcast(0.020483306f); });
  const auto go_on = [&](float c) { p = ForEach<V>([&](int i) { return p.v[i] * u.v[i] + Broadcast(c); }); };
  go_on(-0.053692963f), go_on(0.13330899f), go_on(-0.33333263f);
  return ForEach<V>([&](int i) {
    const Vec small = x.v[i] + x.v[i] * u.v[i] * p.v[i];
    const Vec large = Broadcast(1.0f) - Broadcast(2.0f) * ReciprocalFromOne(e.v[i] + Broadcast(1.0f));
    return Abs(x.v[i]) < Broadcast(0.625f) ? small : x.v[i] < Broadcast(0.0f) ? -large : large;
  });
}

}  // namespace sardonyx::kernels::SDX_ISA
