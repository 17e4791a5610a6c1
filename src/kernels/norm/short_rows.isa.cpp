// kernels/norm/short_rows.isa.cpp - rows divided by their size, one source for every ISA.
#include "kernels/norm/short_rows.h"

#include "kernels/simd/vec_any.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

template <typename T>
using VecT = typename VecOf<T>::Type;

// The first `count` elements, fewer than a vector holds; zeros behind them.
#if defined(__AVX512F__)
inline VecT<float> LoadFirst(const float* p, int64_t count) { return _mm512_maskz_loadu_ps((1u << count) - 1, p); }
inline VecT<double> LoadFirst(const double* p, int64_t count) { return _mm512_maskz_loadu_pd((1u << count) - 1, p); }
inline void StoreFirst(float* p, VecT<float> v, int64_t count) { _mm512_mask_storeu_ps(p, (1u << count) - 1, v); }
inline void StoreFirst(double* p, VecT<double> v, int64_t count) { _mm512_mask_storeu_pd(p, (1u << count) - 1, v); }
// The first `count` elements less the mean; zeros behind them.
inline VecT<float> FirstLess(const float* p, int64_t count, float mean) {
  return _mm512_maskz_sub_ps((1u << count) - 1, LoadFirst(p, count), _mm512_set1_ps(mean));
}
inline VecT<double> FirstLess(const double* p, int64_t count, double mean) {
  return _mm512_maskz_sub_pd((1u << count) - 1, LoadFirst(p, count), _mm512_set1_pd(mean));
}
#elif defined(__AVX2__)
inline __m256i MaskOf(const float*, int64_t count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
inline __m256i MaskOf(const double*, int64_t count) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(count), _mm256_setr_epi64x(0, 1, 2, 3));
}
inline VecT<float> LoadFirst(const float* p, int64_t count) { return _mm256_maskload_ps(p, MaskOf(p, count)); }
inline VecT<double> LoadFirst(const double* p, int64_t count) { return _mm256_maskload_pd(p, MaskOf(p, count)); }
inline void StoreFirst(float* p, VecT<float> v, int64_t count) { _mm256_maskstore_ps(p, MaskOf(p, count), v); }
inline void StoreFirst(double* p, VecT<double> v, int64_t count) { _mm256_maskstore_pd(p, MaskOf(p, count), v); }
inline VecT<float> FirstLess(const float* p, int64_t count, float mean) {
  const __m256i mask = MaskOf(p, count);
  return _mm256_and_ps(_mm256_castsi256_ps(mask), _mm256_maskload_ps(p, mask) - _mm256_set1_ps(mean));
}
inline VecT<double> FirstLess(const double* p, int64_t count, double mean) {
  const __m256i mask = MaskOf(p, count);
  return _mm256_and_pd(_mm256_castsi256_pd(mask), _mm256_maskload_pd(p, mask) - _mm256_set1_pd(mean));
}
#else
template <typename T>
VecT<T> LoadFirst(const T* p, int64_t count) {
  VecT<T> v{};
  for (int64_t i = 0; i < count; ++i) v[i] = p[i];
  return v;
}
template <typename T>
void StoreFirst(T* p, VecT<T> v, int64_t count) {
  for (int64_t i = 0; i < count; ++i) p[i] = v[i];
}
template <typename T>
VecT<T> FirstLess(const T* p, int64_t count, T mean) {
  VecT<T> v{};
  for (int64_t i = 0; i < count; ++i) v[i] = p[i] - mean;
  return v;
}
#endif
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
