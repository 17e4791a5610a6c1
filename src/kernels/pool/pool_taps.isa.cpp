// kernels/pool/pool_taps.isa.cpp - one tap of a row of windows, as loops that compilers turn into vectors; compiled
// once per ISA.
#include "kernels/pool/pool_taps.h"

#include <cmath>

namespace sardonyx::kernels::SDX_ISA {
namespace {

// Runs loop(step) with a step that is a constant where it is 1 or 2, as most are.
template <typename Loop>
void WithStride(std::ptrdiff_t stride, Loop loop) {
  if (stride == 1) {
    loop(std::integral_constant<std::ptrdiff_t, 1>());
  } else if (stride == 2) {
    loop(std::integral_constant<std::ptrdiff_t, 2>());
  } else {
    loop(stride);
  }
}

template <typename T>
void MaxTap(const T* x, std::ptrdiff_t stride, std::size_t n, T* best) {
  const auto count = static_cast<std::ptrdiff_t>(n);
  WithStride(stride, [&](auto step) {
#pragma omp simd
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const T v = x[i * step], old = best[i];
      best[i] = (v > old) | (v != v) ? v : old;
    }
  });
}

template <typename T>
void MaxTapAt(const T* x, std::ptrdiff_t stride, std::size_t n, std::int64_t first, T* best, std::int64_t* at) {
  const auto count = static_cast<std::ptrdiff_t>(n);
  WithStride(stride, [&](auto step) {
#pragma omp simd
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      const T v = x[i * step], old = best[i];
      const std::int64_t before = at[i];
      const bool take = (v > old) | (v != v) | (before < 0);
      best[i] = take ? v : old;
      at[i] = take ? first + i * step : before;
    }
  });
}

template <typename T>
void AddTap(const T* x, std::ptrdiff_t stride, std::size_t n, double power, double* sums) {
  const auto count = static_cast<std::ptrdiff_t>(n);
  if (power != 0 && power != 1 && power != 2) {
    for (std::ptrdiff_t i = 0; i < count; ++i) sums[i] += std::pow(std::abs(static_cast<double>(x[i * stride])), power);
    return;
  }
  WithStride(stride, [&](auto step) {
    if (power == 0) {
#pragma omp simd
      for (std::ptrdiff_t i = 0; i < count; ++i) sums[i] += static_cast<double>(x[i * step]);
    } else if (power == 1) {
#pragma omp simd
      for (std::ptrdiff_t i = 0; i < count; ++i) sums[i] += std::abs(static_cast<double>(x[i * step]));
    } else {
#pragma omp simd
      for (std::ptrdiff_t i = 0; i < count; ++i)
        sums[i] += static_cast<double>(x[i * step]) * static_cast<double>(x[i * step]);
    }
  });
}

}  // namespace

PoolTapTable PoolTapKernels() {
  return {.f32 = {MaxTap<float>, MaxTapAt<float>, AddTap<float>},
          .f64 = {MaxTap<double>, MaxTapAt<double>, AddTap<double>},
          .s8 = {MaxTap<std::int8_t>, MaxTapAt<std::int8_t>, nullptr},
          .u8 = {MaxTap<std::uint8_t>, MaxTapAt<std::uint8_t>, nullptr}};
}

}  // namespace sardonyx::kernels::SDX_ISA
