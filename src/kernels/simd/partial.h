// kernels/simd/partial.h - the first elements of a vector of floats or doubles, where a row ends inside it. Include only
// from *.isa.cpp.
#pragma once

#include "kernels/simd/vec_any.h"

namespace sardonyx::kernels::SDX_ISA {

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

}  // namespace sardonyx::kernels::SDX_ISA
