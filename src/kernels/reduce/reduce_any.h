// kernels/reduce/reduce_any.h - reductions of rows and columns of doubles and integers.
//
// Integers sum and multiply modulo 2^64. Doubles are added in several chains, in an order that only the length decides.
// A NaN makes every kind NaN.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "kernels/dispatch.h"
#include "kernels/reduce/reduce_f32.h"

namespace sardonyx::kernels {

// What a sum or product of T is held in.
template <typename T>
using WideSum = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

template <typename T>
struct ReduceExtremes {
  // The largest (or smallest) of n elements, n > 0.
  T (*row)(bool min, const T* x, std::int64_t n) = nullptr;
  // y[r] = that of row r of n elements, n > 0; the rows follow each other.
  void (*rows)(bool min, const T* x, std::int64_t rows, std::int64_t n, T* y) = nullptr;
  // acc [columns] = the extreme of acc and of the n rows of x, `stride` apart.
  void (*columns)(bool min, const T* x, std::int64_t n, std::int64_t stride, std::int64_t columns, T* acc) = nullptr;
};

template <typename T>
struct ReduceSums {
  // Kinds other than kMax and kMin: 0 (kProd: 1) for n = 0.
  WideSum<T> (*row)(ReduceKind kind, const T* x, std::int64_t n) = nullptr;
  void (*columns)(ReduceKind kind, const T* x, std::int64_t n, std::int64_t stride, std::int64_t columns,
                  WideSum<T>* acc) = nullptr;
};

// The vector forms of one ISA. Extremes are there for all of these types, sums for those of 4 and 8 bytes.
struct ReduceAnySet {
  ReduceExtremes<double> max_f64;
  ReduceExtremes<std::int8_t> max_s8;
  ReduceExtremes<std::uint8_t> max_u8;
  ReduceExtremes<std::int32_t> max_s32;
  ReduceExtremes<std::uint32_t> max_u32;
  ReduceExtremes<std::int64_t> max_s64;
  ReduceExtremes<std::uint64_t> max_u64;
  ReduceSums<double> sum_f64;
  ReduceSums<std::int32_t> sum_s32;
  ReduceSums<std::uint32_t> sum_u32;
  ReduceSums<std::int64_t> sum_s64;
  ReduceSums<std::uint64_t> sum_u64;

  template <typename T>
  const ReduceExtremes<T>& Extremes() const {
    if constexpr (std::is_same_v<T, double>) return max_f64;
    if constexpr (std::is_same_v<T, std::int8_t>) return max_s8;
    if constexpr (std::is_same_v<T, std::uint8_t>) return max_u8;
    if constexpr (std::is_same_v<T, std::int32_t>) return max_s32;
    if constexpr (std::is_same_v<T, std::uint32_t>) return max_u32;
    if constexpr (std::is_same_v<T, std::int64_t>) return max_s64;
    if constexpr (std::is_same_v<T, std::uint64_t>) return max_u64;
  }
  template <typename T>
  const ReduceSums<T>& Sums() const {
    if constexpr (std::is_same_v<T, double>) return sum_f64;
    if constexpr (std::is_same_v<T, std::int32_t>) return sum_s32;
    if constexpr (std::is_same_v<T, std::uint32_t>) return sum_u32;
    if constexpr (std::is_same_v<T, std::int64_t>) return sum_s64;
    if constexpr (std::is_same_v<T, std::uint64_t>) return sum_u64;
  }
};
using ReduceAnyFn = ReduceAnySet();

#define SDX_DECLARE(isa)        \
  namespace isa {               \
  ReduceAnyFn ReduceAnyKernels; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

std::span<const Variant<ReduceAnyFn>> ReduceAnyVariants();
const ReduceAnySet& ReduceAny();

}  // namespace sardonyx::kernels
