// kernels/reduce/columns.isa.cpp - running sums and places of extremes of neighbouring columns, as loops that compilers
// turn into vectors; compiled once per ISA.
#include "kernels/reduce/columns.h"

#include "kernels/simd/vec_any.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

using std::int64_t;

template <typename T>
using Total = typename RunningTotal<T>::Type;

// What a line of memory holds.
template <typename T>
constexpr int64_t kLine = 64 / static_cast<int64_t>(sizeof(T));

// One row of `columns` columns.
template <typename T, bool kExclusive, bool kProduct>
[[gnu::always_inline]] inline void RunRow(const T* x, int64_t columns, Total<T>* totals, T* y) {
#pragma omp simd
  for (int64_t j = 0; j < columns; ++j) {
    const auto element = static_cast<Total<T>>(x[j]);
    const auto next = static_cast<Total<T>>(kProduct ? totals[j] * element : totals[j] + element);
    y[j] = static_cast<T>(kExclusive ? totals[j] : next);
    totals[j] = next;
  }
}

// Row after row, so that memory is read in its order. The last columns are a whole line, too, some of whose columns are
// computed twice, with totals of their own.
template <typename T, bool kExclusive, bool kProduct>
void RunColumns(const T* x, int64_t n, int64_t step, int64_t columns, Total<T>* totals, T* y) {
  const bool twice = columns % kLine<T> != 0 && columns > kLine<T> && x != y;  // x must not be overwritten before
  const int64_t whole = twice || columns < kLine<T> ? columns / kLine<T> * kLine<T> : columns,
                last = columns - kLine<T>;
  alignas(64) Total<T> line[kLine<T>];
#pragma omp simd
  for (int64_t j = 0; j < kLine<T>; ++j) line[j] = twice ? totals[last + j] : 0;
  for (int64_t k = 0; k < n; ++k, x += step, y += step) {
    for (int64_t j = 0; j + kLine<T> <= whole; j += kLine<T>)
      RunRow<T, kExclusive, kProduct>(x + j, kLine<T>, totals + j, y + j);
    if (twice) {
      RunRow<T, kExclusive, kProduct>(x + last, kLine<T>, line, y + last);
    } else {
      const int64_t done = whole / kLine<T> * kLine<T>;
      RunRow<T, kExclusive, kProduct>(x + done, columns - done, totals + done, y + done);
    }
  }
  for (int64_t j = whole; twice && j < columns; ++j) totals[j] = line[j - last];
}

// Totals of elements of their own size are the row before: y[k] = y[k - 1] + x[k], or + x[k - 1]; x is not y.
template <typename T, bool kExclusive, bool kProduct>
void RunFromRowBefore(const T* x, int64_t n, int64_t step, int64_t columns, Total<T>* totals, T* y) {
  const auto join = [](auto a, auto b) {
    const auto left = static_cast<Total<T>>(a), right = static_cast<Total<T>>(b);
    return static_cast<Total<T>>(kProduct ? left * right : left + right);
  };
#pragma omp simd
  for (int64_t j = 0; j < columns; ++j) y[j] = static_cast<T>(kExclusive ? totals[j] : join(totals[j], x[j]));
  for (int64_t k = 1; k < n; ++k) {
    const T* from = x + (kExclusive ? k - 1 : k) * step;
    const T* before = y + (k - 1) * step;
    T* to = y + k * step;
#pragma omp simd
    for (int64_t j = 0; j < columns; ++j) to[j] = static_cast<T>(join(before[j], from[j]));
  }
  const T* last = y + (n - 1) * step;
  for (int64_t j = 0; j < columns; ++j)
    totals[j] = kExclusive ? join(last[j], x[(n - 1) * step + j]) : static_cast<Total<T>>(last[j]);
}

// Columns whose totals stay in registers while all rows are taken.
constexpr int64_t kDoubles = VecOf<double>::kCount;
using DoubleVec __attribute__((vector_size(8 * kDoubles))) = double;
using FloatVec __attribute__((vector_size(4 * kDoubles))) = float;

template <int64_t kVectors, bool kExclusive, bool kProduct>
void RunHeld(const float* x, int64_t n, int64_t step, double* totals, float* y) {
  DoubleVec held[kVectors];
  __builtin_memcpy(held, totals, sizeof held);
  for (int64_t k = 0; k < n; ++k, x += step, y += step) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < kVectors; ++i) {
      FloatVec elements;
      __builtin_memcpy(&elements, x + i * kDoubles, sizeof elements);
      const DoubleVec before = held[i], wide = __builtin_convertvector(elements, DoubleVec);
      held[i] = kProduct ? before * wide : before + wide;
      const FloatVec result = __builtin_convertvector(kExclusive ? before : held[i], FloatVec);
      __builtin_memcpy(y + i * kDoubles, &result, sizeof result);
    }
  }
  __builtin_memcpy(totals, held, sizeof held);
}

// Rows that stay in the second cache are read a few columns at a time.
constexpr int64_t kCachedFloats = 192 * 1024;

// The next kVectors * kDoubles columns, as often as there are so many from `at` on. Returns the first that is left.
template <int64_t kVectors, bool kExclusive, bool kProduct>
int64_t RunWhole(const float* x, int64_t n, int64_t step, int64_t at, int64_t columns, double* totals, float* y) {
  constexpr int64_t kHeld = kVectors * kDoubles;
  for (; at + kHeld <= columns; at += kHeld)
    RunHeld<kVectors, kExclusive, kProduct>(x + at, n, step, totals + at, y + at);
  return at;
}

// At least one vector of columns. The last is a whole one, too, some of whose columns are computed twice, with totals
// of their own; where y is x, which must not be overwritten before, what is left of it is computed alone.
template <bool kExclusive, bool kProduct>
void RunHeldColumns(const float* x, int64_t n, int64_t step, int64_t columns, double* totals, float* y) {
  const int64_t last = columns - kDoubles;
  double end[kDoubles];
  __builtin_memcpy(end, totals + last, sizeof end);
  int64_t at = RunWhole<8, kExclusive, kProduct>(x, n, step, 0, columns, totals, y);
  at = RunWhole<4, kExclusive, kProduct>(x, n, step, at, columns, totals, y);
  at = RunWhole<1, kExclusive, kProduct>(x, n, step, at, columns, totals, y);
  if (at == columns) return;
  if (x == y) return RunColumns<float, kExclusive, kProduct>(x + at, n, step, columns - at, totals + at, y + at);
  RunHeld<1, kExclusive, kProduct>(x + last, n, step, end, y + last);
  for (int64_t j = at; j < columns; ++j) totals[j] = end[j - last];
}

template <typename T, bool kExclusive, bool kProduct>
void RunOne(const T* x, int64_t n, int64_t step, int64_t columns, Total<T>* totals, T* y) {
  if constexpr (sizeof(Total<T>) == sizeof(T)) {
    if (x != y && n > 0) return RunFromRowBefore<T, kExclusive, kProduct>(x, n, step, columns, totals, y);
  }
  if constexpr (std::is_same_v<T, float>) {
    const int64_t distance = step < 0 ? -step : step;
    if (n * distance <= kCachedFloats && columns >= kDoubles) {
      return RunHeldColumns<kExclusive, kProduct>(x, n, step, columns, totals, y);
    }
  }
  RunColumns<T, kExclusive, kProduct>(x, n, step, columns, totals, y);
}

template <typename T>
void Run(RunningKind kind, const T* x, int64_t n, int64_t step, int64_t columns, Total<T>* totals, T* y) {
  if (kind.exclusive) {
    kind.product ? RunOne<T, true, true>(x, n, step, columns, totals, y)
                 : RunOne<T, true, false>(x, n, step, columns, totals, y);
  } else {
    kind.product ? RunOne<T, false, true>(x, n, step, columns, totals, y)
                 : RunOne<T, false, false>(x, n, step, columns, totals, y);
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

// A signed number that orders as elements of up to 32 bits do, the best the largest: NaN beats all, zeros of both signs
// are equal.
template <bool kMin, typename T>
[[gnu::always_inline]] inline std::int32_t OrderOf(T x) {
  if constexpr (std::is_floating_point_v<T>) {
    const float value = (kMin ? -x : x) + 0.0f;
    std::int32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    const std::int32_t order = bits < 0 ? bits ^ INT32_MAX : bits;
    return x != x ? INT32_MAX : order;
  } else {
    constexpr std::int64_t kShift = std::is_unsigned_v<T> && sizeof(T) == 4 ? INT32_MIN : 0;
    const auto order = static_cast<std::int32_t>(x + kShift);
    return kMin ? ~order : order;
  }
}

// The place of the best of kCount lanes that hold the best of their places in a row; of equal ones the first or last.
// Elements of up to 32 bits: order and place are one number.
template <bool kMin, bool kLast, int64_t kCount, typename T>
[[gnu::always_inline]] inline int64_t PlaceOfBest(const T* best, const std::int32_t* at) {
  int64_t top = INT64_MIN;
#pragma omp simd reduction(max : top)
  for (int64_t j = 0; j < kCount; ++j) {
    const int64_t place = kLast ? at[j] : INT32_MAX - at[j];
    const int64_t joined = (static_cast<int64_t>(OrderOf<kMin>(best[j])) * (int64_t{1} << 32)) + place;
    top = joined > top ? joined : top;
  }
  const int64_t place = top & INT32_MAX;
  return kLast ? place : INT32_MAX - place;
}

// lanes[0] = the best of the first 2 * kHalf lanes, in halves.
template <bool kMin, int kHalf, typename T>
[[gnu::always_inline]] inline void FoldHalves(T* lanes) {
#pragma omp simd
  for (int j = 0; j < kHalf; ++j)
    lanes[j] = Beats<kMin, false>(lanes[j + kHalf], lanes[j]) ? lanes[j + kHalf] : lanes[j];
  if constexpr (kHalf > 1) FoldHalves<kMin, kHalf / 2>(lanes);
}

// As PlaceOfBest, for elements of 64 bits.
template <bool kMin, bool kLast, int64_t kCount, typename T>
[[gnu::always_inline]] inline int64_t PlaceOfWideBest(const T* best, const std::int32_t* at) {
  alignas(64) T top[kCount];
#pragma omp simd
  for (int64_t j = 0; j < kCount; ++j) top[j] = best[j];
  FoldHalves<kMin, static_cast<int>(kCount / 2)>(top);
  const T extreme = top[0];
  // The first place is the largest of their complements.
  std::int32_t place = INT32_MIN;
#pragma omp simd reduction(max : place)
  for (int64_t j = 0; j < kCount; ++j) {
    const bool is_it = (best[j] == extreme) | ((best[j] != best[j]) & (extreme != extreme));
    const std::int32_t candidate = is_it ? (kLast ? at[j] : ~at[j]) : INT32_MIN;
    place = candidate > place ? candidate : place;
  }
  return kLast ? place : ~place;
}

// Of a row of at least a line: the extremes of the lanes of its lines, the last of which may read elements again, then
// the place of the best.
template <bool kMin, bool kLast, typename T>
int64_t FindInLines(const T* x, int64_t n) {
  constexpr int64_t kCount = kLine<T>;
  alignas(64) T best[kCount];
  alignas(64) std::int32_t at[kCount];
#pragma omp simd
  for (int64_t j = 0; j < kCount; ++j) best[j] = x[j], at[j] = static_cast<std::int32_t>(j);
  for (int64_t k = kCount; k < n; k += kCount) {
    const int64_t first = k + kCount <= n ? k : n - kCount;
    const T* line = x + first;
    const auto place = static_cast<std::int32_t>(first);
#pragma omp simd
    for (int64_t j = 0; j < kCount; ++j) {
      const T v = line[j], old = best[j];
      const bool better = Beats<kMin, kLast>(v, old);
      best[j] = better ? v : old;
      at[j] = better ? place + static_cast<std::int32_t>(j) : at[j];
    }
  }
  if constexpr (sizeof(T) == 8) return PlaceOfWideBest<kMin, kLast, kCount>(best, at);
  return PlaceOfBest<kMin, kLast, kCount>(best, at);
}

// Rows of small integers, in lines of kFewLanes: order and place are one number of 32 bits.
constexpr int64_t kFewLanes = 16, kLongestFew = 32767;

template <bool kMin, bool kLast, typename T>
int64_t FindSmall(const T* x, int64_t n) {
  std::int32_t lanes[kFewLanes], top = INT32_MIN;
#pragma omp simd
  for (int64_t j = 0; j < kFewLanes; ++j) lanes[j] = INT32_MIN;
  for (int64_t k = 0; k < n; k += kFewLanes) {
    const auto first = static_cast<std::int32_t>(k + kFewLanes <= n ? k : n - kFewLanes);
#pragma omp simd
    for (std::int32_t j = 0; j < kFewLanes; ++j) {
      const std::int32_t place = first + j, element = x[first + j];
      const std::int32_t joined = (kMin ? ~element : element) * 32768 + (kLast ? place : 32767 - place);
      lanes[j] = joined > lanes[j] ? joined : lanes[j];
    }
  }
#pragma omp simd reduction(max : top)
  for (int64_t j = 0; j < kFewLanes; ++j) top = lanes[j] > top ? lanes[j] : top;
  const int64_t place = top & 32767;
  return kLast ? place : 32767 - place;
}

// Longer rows in pieces whose places 31 bits hold.
template <bool kMin, bool kLast, typename T>
int64_t FindInRow(const T* x, int64_t n) {
  constexpr int64_t kMost = int64_t{1} << 30;
  if constexpr (sizeof(T) == 1)
    if (n >= kFewLanes && n <= kLongestFew) return FindSmall<kMin, kLast>(x, n);
  int64_t best = 0, begin = 1;
  if (n >= kLine<T>) {
    const int64_t first = n < kMost ? n : kMost;
    best = FindInLines<kMin, kLast>(x, first), begin = first;
  }
  while (begin < n) {
    const int64_t count = n - begin < kMost ? n - begin : kMost;
    const int64_t at = count < kLine<T> ? begin : begin + FindInLines<kMin, kLast>(x + begin, count);
    if (Beats<kMin, kLast>(x[at], x[best])) best = at;
    begin += count < kLine<T> ? 1 : count;
  }
  return best;
}

template <bool kMin, bool kLast, typename T>
void FindInRows(const T* x, int64_t rows, int64_t n, int64_t* at) {
  for (int64_t r = 0; r < rows; ++r) at[r] = FindInRow<kMin, kLast>(x + r * n, n);
}
template <typename T>
void FindRows(ExtremeKind kind, const T* x, int64_t rows, int64_t n, int64_t* at) {
  if (kind.min) {
    kind.last ? FindInRows<true, true>(x, rows, n, at) : FindInRows<true, false>(x, rows, n, at);
  } else {
    kind.last ? FindInRows<false, true>(x, rows, n, at) : FindInRows<false, false>(x, rows, n, at);
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
  AllTypes<ExtremeRowsFn>& rows = table.extreme_rows;
  rows.f32 = FindRows<float>, rows.f64 = FindRows<double>;
  rows.s8 = FindRows<std::int8_t>, rows.u8 = FindRows<std::uint8_t>;
  rows.s16 = FindRows<std::int16_t>, rows.u16 = FindRows<std::uint16_t>;
  rows.s32 = FindRows<std::int32_t>, rows.u32 = FindRows<std::uint32_t>;
  rows.s64 = FindRows<std::int64_t>, rows.u64 = FindRows<std::uint64_t>;
  return table;
}

}  // namespace sardonyx::kernels::SDX_ISA
