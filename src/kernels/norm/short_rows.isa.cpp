// kernels/norm/short_rows.isa.cpp - rows divided by their size, one source for every ISA.
#include "kernels/norm/short_rows.h"

#include "kernels/simd/partial.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

template <typename T>
void StoreAll(T* p, VecT<T> v) {
  std::memcpy(p, &v, sizeof v);
}

enum class Term { kValue, kAbs, kSquare };
template <Term kTerm, typename V>
V TermOf(V v) {
  if constexpr (kTerm == Term::kAbs) return v < 0 ? -v : v;
  if constexpr (kTerm == Term::kSquare) return v * v;
  return v;
}

// Inline, as a vector goes in: behind such a call g++ 12 leaves the upper halves of registers dirty.
template <typename T>
[[gnu::always_inline]] inline double Total(VecT<T> v) {
  T lanes[VecOf<T>::kCount];
  StoreAll(lanes, v);
  double chains[4] = {};
#pragma GCC unroll 16
  for (ptrdiff_t i = 0; i < VecOf<T>::kCount; ++i) chains[i % 4] += static_cast<double>(lanes[i]);
  return (chains[0] + chains[1]) + (chains[2] + chains[3]);
}

// The sum of the terms of x - mean.
template <Term kTerm, typename T>
double SumOf(const T* x, int64_t n, T mean) {
  constexpr int64_t kCount = VecOf<T>::kCount;
  const auto term = [=](int64_t i) { return TermOf<kTerm>(LoadAny(x + i) - mean); };
  VecT<T> a{}, b{}, c{}, d{};
  int64_t i = 0;
  for (; i + 4 * kCount <= n; i += 4 * kCount)
    a += term(i), b += term(i + kCount), c += term(i + 2 * kCount), d += term(i + 3 * kCount);
  for (; i + kCount <= n; i += kCount) a += term(i);
  if (i < n) b += TermOf<kTerm>(FirstLess(x + i, n - i, mean));
  return Total<T>((a + b) + (c + d));
}

template <typename T>
void Scale(const ShortRows<T>& p, const T* x, T mean, T factor, T* y) {
  constexpr int64_t kCount = VecOf<T>::kCount;
  int64_t i = 0;
  for (; i + kCount <= p.n; i += kCount) {
    VecT<T> v = (LoadAny(x + i) - mean) * factor;
    if (p.scale != nullptr) v *= LoadAny(p.scale + i);
    if (p.bias != nullptr) v += LoadAny(p.bias + i);
    StoreAll(y + i, v);
  }
  const int64_t rest = p.n - i;
  if (rest == 0) return;
  VecT<T> v = (LoadFirst(x + i, rest) - mean) * factor;
  if (p.scale != nullptr) v *= LoadFirst(p.scale + i, rest);
  if (p.bias != nullptr) v += LoadFirst(p.bias + i, rest);
  StoreFirst(y + i, v, rest);
}

template <typename T>
int64_t DivideRows(const ShortRows<T>& p) {
  const bool of_mean = p.size == RowSize::kRootMeanSquare || p.size == RowSize::kDeviation;
  const double least = of_mean ? 0 : 1e-25, count = static_cast<double>(p.n);
  for (int64_t r = 0; r < p.rows; ++r) {
    const T* x = p.x + r * p.n;
    const T mean = p.size == RowSize::kDeviation ? static_cast<T>(SumOf<Term::kValue>(x, p.n, T(0)) / count) : T(0);
    const double sum = p.size == RowSize::kSumAbs ? SumOf<Term::kAbs>(x, p.n, T(0)) : SumOf<Term::kSquare>(x, p.n, mean);
    if (!(sum >= least && sum < 1e25)) return r;
    const double size = p.size == RowSize::kSumAbs ? sum : __builtin_sqrt(of_mean ? sum / count + p.epsilon : sum);
    Scale(p, x, mean, static_cast<T>(1 / size), p.y + r * p.n);
  }
  return p.rows;
}

}  // namespace

int64_t DivideShortRowsF32(const ShortRows<float>& rows) { return DivideRows(rows); }
int64_t DivideShortRowsF64(const ShortRows<double>& rows) { return DivideRows(rows); }

}  // namespace sardonyx::kernels::SDX_ISA
