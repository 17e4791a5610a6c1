// kernels/norm/short_rows.h - rows of up to 2,048 elements divided by their size, many in one call: calls and sums in
// double take longer than such rows.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// What a row is divided by: the sum of |x|, the square root of the sum of x^2, sqrt(mean of x^2 + epsilon), or that of
// its differences from its mean, which are what is divided then.
enum class RowSize : std::uint8_t { kSumAbs, kRootSumSquare, kRootMeanSquare, kDeviation };

// Rows follow each other. y = x * (1 / size) * scale + bias; y may be x. Error: 40 * 2^-24 (doubles: 160 * 2^-53)
// relative to |y - bias|, and as much of the mean's size, tested in short_rows_test.cpp.
template <typename T>
struct ShortRows {
  static constexpr std::int64_t kMost = 2048;
  RowSize size = RowSize::kSumAbs;
  const T* x = nullptr;
  T* y = nullptr;
  std::int64_t rows = 0, n = 0;
  const T* scale = nullptr;  // [n] or null
  const T* bias = nullptr;   // [n] or null
  double epsilon = 0;
};
// Returns how many rows are done: it stops before one whose sum is so small or so large, or no number, that it has to
// be computed in double.
template <typename T>
using ShortRowsFn = std::int64_t(const ShortRows<T>& rows);

#define SDX_DECLARE(isa)                   \
  namespace isa {                          \
  ShortRowsFn<float> DivideShortRowsF32;   \
  ShortRowsFn<double> DivideShortRowsF64;  \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// The best of this process, or of an ISA (tests).
std::int64_t DivideShortRows(const ShortRows<float>& rows, Isa isa = BestIsa());
std::int64_t DivideShortRows(const ShortRows<double>& rows, Isa isa = BestIsa());

}  // namespace sardonyx::kernels
