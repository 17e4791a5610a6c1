// kernels/reduce/columns.h - what runs along an axis whose elements are not neighbours: running sums and the places of
// extremes, for several neighbouring columns at a time.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "kernels/dispatch.h"

namespace sardonyx::kernels {

// What running sums of T are held in: floats in double, integers modulo their size.
template <typename T>
struct RunningTotal {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct RunningTotal<float> {
  using Type = double;
};
template <>
struct RunningTotal<double> {
  using Type = double;
};

struct RunningKind {
  bool exclusive = false;  // y is the total before x is taken
  bool product = false;
};

// Row k of n rows, `step` elements after the one before (negative: backwards), of `columns` columns: totals = totals +
// x (or times x), y = totals. y may be x.
template <typename T>
using RunningFn = void(RunningKind kind, const T* x, std::int64_t n, std::int64_t step, std::int64_t columns,
                       typename RunningTotal<T>::Type* totals, T* y);

struct ExtremeKind {
  bool min = false;
  bool last = false;  // of equal elements
};

// Where a row k of n < 2^31 rows, `stride` apart, holds a better element than best[j]: best[j] becomes it, at[j]
// becomes k. A NaN is better than every number.
template <typename T>
using ExtremePlacesFn = void(ExtremeKind kind, const T* x, std::int64_t n, std::int64_t stride, std::int64_t columns,
                             T* best, std::int32_t* at);

// at[r] = the place of the extreme of row r of n elements, n > 0; the rows follow each other.
template <typename T>
using ExtremeRowsFn = void(ExtremeKind kind, const T* x, std::int64_t rows, std::int64_t n, std::int64_t* at);

// The vector forms of one ISA, for all types of Of<T>().
template <template <typename> typename Fn>
struct RunningTypes {
  Fn<float>* f32 = nullptr;
  Fn<double>* f64 = nullptr;
  Fn<std::int32_t>* s32 = nullptr;
  Fn<std::uint32_t>* u32 = nullptr;
  Fn<std::int64_t>* s64 = nullptr;
  Fn<std::uint64_t>* u64 = nullptr;

  template <typename T>
  Fn<T>* Of() const {
    if constexpr (std::is_same_v<T, float>) return f32;
    if constexpr (std::is_same_v<T, double>) return f64;
    if constexpr (std::is_same_v<T, std::int32_t>) return s32;
    if constexpr (std::is_same_v<T, std::uint32_t>) return u32;
    if constexpr (std::is_same_v<T, std::int64_t>) return s64;
    if constexpr (std::is_same_v<T, std::uint64_t>) return u64;
  }
};
template <template <typename> typename Fn>
struct AllTypes : RunningTypes<Fn> {
  Fn<std::int8_t>* s8 = nullptr;
  Fn<std::uint8_t>* u8 = nullptr;
  Fn<std::int16_t>* s16 = nullptr;
  Fn<std::uint16_t>* u16 = nullptr;

  template <typename T>
  Fn<T>* Of() const {
    if constexpr (std::is_same_v<T, std::int8_t>) return s8;
    if constexpr (std::is_same_v<T, std::uint8_t>) return u8;
    if constexpr (std::is_same_v<T, std::int16_t>) return s16;
    if constexpr (std::is_same_v<T, std::uint16_t>) return u16;
    if constexpr (sizeof(T) >= 4) return RunningTypes<Fn>::template Of<T>();
  }
};

struct ColumnTable {
  RunningTypes<RunningFn> running;
  AllTypes<ExtremePlacesFn> extremes;
  AllTypes<ExtremeRowsFn> extreme_rows;
};
using ColumnTableFn = ColumnTable();
std::span<const Variant<ColumnTableFn>> ColumnVariants();
const ColumnTable& ColumnKernels();

#define SDX_DECLARE(isa)           \
  namespace isa {                  \
  ColumnTableFn MakeColumnKernels; \
  }
SDX_FOR_EACH_ISA(SDX_DECLARE)
#undef SDX_DECLARE

}  // namespace sardonyx::kernels
