// kernels/simd/several_f32.h - several vectors that are computed together, each operation for all of them before the
// next: one vector after the other would leave a CPU waiting for the chains of operations.
//
// Include only from *.isa.cpp. A function of math_f32.h takes a Vec or Several. An operand that is a Vec is the same
// for all vectors.
#pragma once

#include "kernels/simd/vec_f32.h"

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

// f(x, ...) of vectors, and vector by vector of several.
template <typename F, typename... X>
[[gnu::always_inline]] inline Vec Each(F f, Vec x, X... more) {
  return f(x, more...);
}
template <typename F, int V, typename... X>
[[gnu::always_inline]] inline Several<V> Each(F f, const Several<V>& x, const X&... more) {
  return ForEach<V>([&](int i) { return f(x.v[i], more.v[i]...); });
}

#define SDX_OPERATOR(op)                                                                           \
  template <int V>                                                                                 \
  [[gnu::always_inline]] inline Several<V> operator op(const Several<V>& a, const Several<V>& b) { \
    return ForEach<V>([&](int i) { return a.v[i] op b.v[i]; });                                    \
  }                                                                                                \
  template <int V>                                                                                 \
  [[gnu::always_inline]] inline Several<V> operator op(const Several<V>& a, Vec b) {               \
    return ForEach<V>([&](int i) { return a.v[i] op b; });                                         \
  }                                                                                                \
  template <int V>                                                                                 \
  [[gnu::always_inline]] inline Several<V> operator op(Vec a, const Several<V>& b) {               \
    return ForEach<V>([&](int i) { return a op b.v[i]; });                                         \
  }
SDX_OPERATOR(+)
SDX_OPERATOR(-)
SDX_OPERATOR(*)
SDX_OPERATOR(/)
#undef SDX_OPERATOR

template <int V>
[[gnu::always_inline]] inline Several<V> operator-(const Several<V>& a) {
  return ForEach<V>([&](int i) { return -a.v[i]; });
}
template <int V>
[[gnu::always_inline]] inline Several<V> Max(Vec bound, const Several<V>& x) {
  return ForEach<V>([&](int i) { return Max(bound, x.v[i]); });
}
template <int V>
[[gnu::always_inline]] inline Several<V> Min(Vec bound, const Several<V>& x) {
  return ForEach<V>([&](int i) { return Min(bound, x.v[i]); });
}

}  // namespace sardonyx::kernels::SDX_ISA
