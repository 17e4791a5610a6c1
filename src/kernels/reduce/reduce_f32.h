// kernels/reduce/reduce_f32.h - sums, extremes and products of f32 rows and columns.
//
// Sums: chains of at most 32 float additions per lane within a block of 2,048 elements, blocks added in double; error
// of a row's sum at most 40 * 2^-24 * sum |x|, tested in ops/reduction/reduce_test.cpp. A NaN in the input makes every
// kind NaN.
#pragma once

#include <cstdint>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

enum class ReduceKind : std::uint8_t { kSum, kSumAbs, kSumSquare, kProd, kMax, kMin };

inline constexpr std::int64_t kShortRow = 2048;  // the longest rows for short_rows

struct ReduceF32Set {
  // The reduction of x [n]; the identity (0, 1, -inf, +inf) for n = 0.
  double (*row)(ReduceKind kind, const float* x, std::int64_t n);
  // y[r] = the reduction of x[r * n + i], i < n, for 0 < n <= kShortRow, with one call for all rows.
  void (*short_rows)(ReduceKind kind, const float* x, std::int64_t rows, std::int64_t n, float* y);
  // acc [columns] = the reduction of acc and of the n rows of x, `stride` apart. Callers start with the identity.
  void (*columns)(ReduceKind kind, const float* x, std::int64_t n, std::int64_t stride, std::int64_t columns,
                  float* acc);
  // The sum of e^(x[i] - max), and of (x[i] - mean)^2.
  double (*sum_exp)(const float* x, std::int64_t n, float max);
  double (*sum_squared_deviations)(const float* x, std::int64_t n, float mean);
};

#define SDX_DECLARE(isa)                                                                                         \
  namespace isa {                                                                                                \
  double ReduceRow(ReduceKind kind, const float* x, std::int64_t n);                                             \
  void ReduceShortRows(ReduceKind kind, const float* x, std::int64_t rows, std::int64_t n, float* y);            \
  void ReduceColumns(ReduceKind kind, const float* x, std::int64_t n, std::int64_t stride, std::int64_t columns, \
                     float* acc);                                                                                \
  double SumExp(const float* x, std::int64_t n, float max);                                                      \
  double SumSquaredDeviations(const float* x, std::int64_t n, float mean);                                       \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

// The functions of the best ISA, or of a given one (tests).
const ReduceF32Set& ReduceF32(Isa isa = BestIsa());
float ReduceIdentity(ReduceKind kind);

}  // namespace sardonyx::kernels
