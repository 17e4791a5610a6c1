// kernels/reduce/columns.isa.cpp - running sums and places of extremes of neighbouring columns, as loops that compilers
// turn into vectors; compiled once per ISA.
#include "kernels/reduce/columns.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

using std::int64_t;

template <typename T>
using Total = typename RunningTotal<T>::Type;

template <typename T, bool kExclusive, bool kProduct>
void RunColumns(const T* x, int64_t n, int64_t step, int64_t columns, Total<T>* totals, T* y) {
  // Totals of a line of memory stay in registers for all rows.
  constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));
  for (; columns >= kLine; columns -= kLine, x += kLine, y += kLine, totals += kLine) {
    Total<T> line[kLine];
    for (int64_t j = 0; j < kLine; ++j) line[j] = totals[j];
    for (int64_t k = 0; k < n; ++k) {
#pragma omp simd
      for (int64_t j = 0; j < kLine; ++j) {
        const auto element = static_cast<Total<T>>(x[k * step + j]);
        const auto next = static_cast<Total<T>>(kProduct ? line[j] * element : line[j] + element);
        y[k * step + j] = static_cast<T>(kExclusive ? line[j] : next);
        line[j] = next;
      }
    }
    for (int64_t j = 0; j < kLine; ++j) totals[j] = line[j];
  }
  for (int64_t k = 0; k < n; ++k) {
    const T* from = x + k * step;
    T* to = y + k * step;
#pragma omp simd
    for (int64_t j = 0; j < columns; ++j) {
      const auto element = static_cast<Total<T>>(from[j]);
      const auto next = static_cast<Total<T>>(kProduct ? totals[j] * element : totals[j] + element);
      to[j] = static_cast<T>(kExclusive ? totals[j] : next);
      totals[j] = next;
    }
  }
}

template <typename T>
void Run(RunningKind kind, const T* x, int64_t n, int64_t step, int64_t columns, Total<T>* totals, T* y) {
  if (kind.exclusive) {
    kind.product ? RunColumns<T, true, true>(x, n, step, columns, totals, y)
                 : RunColumns<T, true, false>(x, n, step, columns, totals, y);
  } else {
    kind.product ? RunColumns<T, false, true>(x, n, step, columns, totals, y)
                 : RunColumns<T, false, false>(x, n, step, columns, totals, y);
  }
}

// A NaN takes every number's place, as in NumPy.
template <bool kMin, bool kLast, typename T>
bool Beats(T x, T best) {
  const bool nan = x != x, had_nan = best != best;
  const bool better = kMin ? (kLast ? x <= best : x < best) : (kLast ? x >= best : x > best);
  return (better & !had_nan) | (nan & (kLast | !had_nan));
}

template <bool kMin, bool kLast, typename T>
void FindColumns(const T* x, int64_t n, int64_t stride, int64_t columns, T* best, std::int32_t* at) {
  for (int64_t k = 0; k < n; ++k) {
    const T* row = x + k * stride;
    const auto place = static_cast<std::int32_t>(k);
#pragma omp simd
    for (int64_t j = 0; j < columns; ++j) {
      const T v = row[j], old = best[j];
      const bool better = Beats<kMin, kLast>(v, old);
      best[j] = better ? v : old;
      at[j] = better ? place : at[j];
    }
  }
}

template <typename T>
void Find(ExtremeKind kind, const T* x, int64_t n, int64_t stride, int64_t columns, T* best, std::int32_t* at) {
  if (kind.min) {
    kind.last ? FindColumns<true, true>(x, n, stride, columns, best, at)
              : FindColumns<true, false>(x, n, stride, columns, best, at);
  } else {
    kind.last ? FindColumns<false, true>(x, n, stride, columns, best, at)
              : FindColumns<false, false>(x, n, stride, columns, best, at);
  }
}

}  // namespace

ColumnTable MakeColumnKernels() {
  ColumnTable table;
  table.running = {Run<float>,         Run<double>,       Run<std::int32_t>,
                   Run<std::uint32_t>, Run<std::int64_t>, Run<std::uint64_t>};
  AllTypes<ExtremePlacesFn>& extremes = table.extremes;
  extremes.f32 = Find<float>, extremes.f64 = Find<double>;
  extremes.s8 = Find<std::int8_t>, extremes.u8 = Find<std::uint8_t>;
  extremes.s16 = Find<std::int16_t>, extremes.u16 = Find<std::uint16_t>;
  extremes.s32 = Find<std::int32_t>, extremes.u32 = Find<std::uint32_t>;
  extremes.s64 = Find<std::int64_t>, extremes.u64 = Find<std::uint64_t>;
  return table;
}

}  // namespace sardonyx::kernels::SDX_ISA
