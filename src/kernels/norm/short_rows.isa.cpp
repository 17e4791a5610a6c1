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
#endif
template <typename T>
void StoreAll(T* p, VecT<T> v) {
  std::memcpy(p, &v, sizeof v);
}

template <bool kAbs, typename V>
V TermOf(V v) {
  if constexpr (kAbs) return v < 0 ? -v : v;
  return v * v;
}

template <typename T>
double Total(VecT<T> v) {
  double total = 0;
  for (ptrdiff_t i = 0; i < VecOf<T>::kCount; ++i) total += static_cast<double>(v[i]);
  return total;
}

template <bool kAbs, typename T>
double SumOf(const T* x, int64_t n) {
  constexpr int64_t kCount = VecOf<T>::kCount;
  VecT<T> a{}, b{}, c{}, d{};
  int64_t i = 0;
  for (; i + 4 * kCount <= n; i += 4 * kCount) {
    a += TermOf<kAbs>(LoadAny(x + i)), b += TermOf<kAbs>(LoadAny(x + i + kCount));
    c += TermOf<kAbs>(LoadAny(x + i + 2 * kCount)), d += TermOf<kAbs>(LoadAny(x + i + 3 * kCount));
  }
  for (; i + kCount <= n; i += kCount) a += TermOf<kAbs>(LoadAny(x + i));
  if (i < n) b += TermOf<kAbs>(LoadFirst(x + i, n - i));
  return Total<T>((a + b) + (c + d));
}

template <typename T>
void Scale(const T* x, int64_t n, T factor, const T* scale, T* y) {
  constexpr int64_t kCount = VecOf<T>::kCount;
  int64_t i = 0;
  for (; i + kCount <= n; i += kCount) {
    VecT<T> v = LoadAny(x + i) * factor;
    if (scale != nullptr) v *= LoadAny(scale + i);
    StoreAll(y + i, v);
  }
  if (i == n) return;
  VecT<T> v = LoadFirst(x + i, n - i) * factor;
  if (scale != nullptr) v *= LoadFirst(scale + i, n - i);
  StoreFirst(y + i, v, n - i);
}

template <typename T>
int64_t DivideRows(const ShortRows<T>& p) {
  const double least = p.size == RowSize::kRootMeanSquare ? 0 : 1e-25;
  for (int64_t r = 0; r < p.rows; ++r) {
    const T* x = p.x + r * p.n;
    const double sum = p.size == RowSize::kSumAbs ? SumOf<true>(x, p.n) : SumOf<false>(x, p.n);
    if (!(sum >= least && sum < 1e25)) return r;
    const double size = p.size == RowSize::kSumAbs          ? sum
                        : p.size == RowSize::kRootSumSquare ? __builtin_sqrt(sum)
                                                            : __builtin_sqrt(sum / static_cast<double>(p.n) + p.epsilon);
    Scale(x, p.n, static_cast<T>(1 / size), p.scale, p.y + r * p.n);
  }
  return p.rows;
}

}  // namespace

int64_t DivideShortRowsF32(const ShortRows<float>& rows) { return DivideRows(rows); }
int64_t DivideShortRowsF64(const ShortRows<double>& rows) { return DivideRows(rows); }

}  // namespace sardonyx::kernels::SDX_ISA
