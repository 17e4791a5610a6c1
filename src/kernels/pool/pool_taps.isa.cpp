// kernels/pool/pool_taps.isa.cpp - one tap of a row of windows, as loops that compilers turn into vectors; compiled
// once per ISA.
#include "kernels/pool/pool_taps.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

// Each loop has a form for the strides 1 and 2, which most pools have; kStride 0 stands for any.
template <int kStride, typename T>
void MaxLoop(const T* x, std::ptrdiff_t stride, std::ptrdiff_t n, T* best) {
  const std::ptrdiff_t step = kStride == 0 ? stride : kStride;
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const T v = x[i * step], old = best[i];
    best[i] = (v > old) | (v != v) ? v : old;
  }
}

template <int kStride, typename T>
void MaxAtLoop(const T* x, std::ptrdiff_t stride, std::ptrdiff_t n, std::int64_t first, T* best, std::int64_t* at) {
  const std::ptrdiff_t step = kStride == 0 ? stride : kStride;
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const T v = x[i * step], old = best[i];
    const std::int64_t before = at[i];
    const bool take = (v > old) | (v != v) | (before < 0);
    best[i] = take ? v : old;
    at[i] = take ? first + i * step : before;
  }
}

// kPower: 0 for x itself, 1 for |x|, 2 for its square.
template <int kStride, int kPower, typename T>
void AddLoop(const T* x, std::ptrdiff_t stride, std::ptrdiff_t n, double* sums) {
  const std::ptrdiff_t step = kStride == 0 ? stride : kStride;
#pragma omp simd
  for (std::ptrdiff_t i = 0; i < n; ++i) {
    const auto v = static_cast<double>(x[i * step]);
    sums[i] += kPower == 0 ? v : kPower == 1 ? __builtin_fabs(v) : v * v;
  }
}

template <typename T>
void MaxTap(const T* x, std::ptrdiff_t stride, std::size_t n, T* best) {
  const auto count = static_cast<std::ptrdiff_t>(n);
  if (stride == 1) return MaxLoop<1>(x, stride, count, best);
  if (stride == 2) return MaxLoop<2>(x, stride, count, best);
  MaxLoop<0>(x, stride, count, best);
}

template <typename T>
void MaxTapAt(const T* x, std::ptrdiff_t stride, std::size_t n, std::int64_t first, T* best, std::int64_t* at) {
  const auto count = static_cast<std::ptrdiff_t>(n);
  if (stride == 1) return MaxAtLoop<1>(x, stride, count, first, best, at);
  if (stride == 2) return MaxAtLoop<2>(x, stride, count, first, best, at);
  MaxAtLoop<0>(x, stride, count, first, best, at);
}

template <int kPower, typename T>
void AddPower(const T* x, std::ptrdiff_t stride, std::ptrdiff_t n, double* sums) {
  if (stride == 1) return AddLoop<1, kPower>(x, stride, n, sums);
  if (stride == 2) return AddLoop<2, kPower>(x, stride, n, sums);
  AddLoop<0, kPower>(x, stride, n, sums);
}

template <typename T>
void AddTap(const T* x, std::ptrdiff_t stride, std::size_t n, double power, double* sums) {
  const auto count = static_cast<std::ptrdiff_t>(n);
  if (power != power) return AddPower<0>(x, stride, count, sums);
  if (power == 1) return AddPower<1>(x, stride, count, sums);
  if (power == 2) return AddPower<2>(x, stride, count, sums);
  for (std::ptrdiff_t i = 0; i < count; ++i)
    sums[i] += __builtin_pow(__builtin_fabs(static_cast<double>(x[i * stride])), power);
}

}  // namespace

PoolTapTable PoolTapKernels() {
  return {.f32 = {MaxTap<float>, MaxTapAt<float>, AddTap<float>},
          .f64 = {MaxTap<double>, MaxTapAt<double>, AddTap<double>},
          .s8 = {MaxTap<std::int8_t>, MaxTapAt<std::int8_t>, nullptr},
          .u8 = {MaxTap<std::uint8_t>, MaxTapAt<std::uint8_t>, nullptr}};
}

}  // namespace sardonyx::kernels::SDX_ISA
