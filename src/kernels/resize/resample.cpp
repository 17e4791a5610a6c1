// kernels/resize/resample.cpp - resizes one axis on all threads.
#include "kernels/resize/resample.h"

#include <algorithm>
#include <type_traits>

#include "kernels/resize/blend.h"

namespace sardonyx::kernels {
namespace {

template <typename T>
using RowsFn = void(const T*, std::int64_t, const std::int32_t*, const T*, std::int64_t, T*);
template <typename T>
using LineFn = void(const T*, const std::int32_t*, const T*, std::int64_t, std::int64_t, T*);

template <typename T>
RowsFn<T>* BestRows() {
  if constexpr (std::is_same_v<T, float>) {
    static constexpr Variant<RowsFn<float>> kVariants[] = {SDX_VARIANTS(BlendRowsF32)};
    return Best(kVariants);
  } else {
    static constexpr Variant<RowsFn<double>> kVariants[] = {SDX_VARIANTS(BlendRowsF64)};
    return Best(kVariants);
  }
}

template <typename T>
LineFn<T>* BestLine() {
  if constexpr (std::is_same_v<T, float>) {
    static constexpr Variant<LineFn<float>> kVariants[] = {SDX_VARIANTS(BlendLineF32)};
    return Best(kVariants);
  } else {
    static constexpr Variant<LineFn<double>> kVariants[] = {SDX_VARIANTS(BlendLineF64)};
    return Best(kVariants);
  }
}

}  // namespace

template <typename T>
void ResampleAxis(const Taps<T>& taps, const T* x, std::int64_t outer, std::int64_t inner, T* y, Parallel& parallel) {
  constexpr std::int64_t kElementsPerTask = 16 * 1024;
  if (inner == 1) {
    LineFn<T>* line = BestLine<T>();
    const std::int64_t grain = std::max<std::int64_t>(1, kElementsPerTask / (taps.out * taps.taps));
    parallel.For(outer, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row)
        line(x + row * taps.in, taps.index, taps.weight, taps.taps, taps.out, y + row * taps.out);
    });
    return;
  }
  RowsFn<T>* rows = BestRows<T>();
  const std::int64_t grain = std::max<std::int64_t>(1, kElementsPerTask / (inner * taps.taps));
  parallel.For(outer * taps.out, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t j = row % taps.out, plane = row / taps.out;
      rows(x + plane * taps.in * inner, inner, taps.index + j * taps.taps, taps.weight + j * taps.taps, taps.taps,
           y + row * inner);
    }
  });
}

template void ResampleAxis(const Taps<float>&, const float*, std::int64_t, std::int64_t, float*, Parallel&);
template void ResampleAxis(const Taps<double>&, const double*, std::int64_t, std::int64_t, double*, Parallel&);

}  // namespace sardonyx::kernels
