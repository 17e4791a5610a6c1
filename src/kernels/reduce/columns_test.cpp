// kernels/reduce/columns_test.cpp - every vector form of the column loops and of the reductions of doubles and integers
// that this CPU can run, against one element after the other.
#include "kernels/reduce/columns.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

#include "kernels/reduce/reduce_any.h"

namespace sardonyx::kernels {
namespace {

constexpr std::int64_t kRows = 9;

// Small numbers, so that equal ones are common and sums of doubles are exact; NaN at some places of floats.
template <typename T>
std::vector<T> Numbers(std::size_t n, bool with_nan) {
  std::mt19937 random(11);
  std::vector<T> x(n);
  for (T& v : x) v = static_cast<T>(static_cast<int>(random() % 7) - (std::is_signed_v<T> ? 3 : 0));
  if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t i = 5; i < n && with_nan; i += 23) x[i] = std::numeric_limits<T>::quiet_NaN();
  } else {
    for (std::size_t i = 3; i < n; i += 17) x[i] = std::numeric_limits<T>::max();
    for (std::size_t i = 4; i < n; i += 19) x[i] = std::numeric_limits<T>::min();
  }
  return x;
}

template <typename T>
bool Same(T a, T b) {
  return a == b || (a != a && b != b);
}

template <typename T>
void ExpectRunning(RunningFn<T>* run) {
  using Total = typename RunningTotal<T>::Type;
  for (const std::int64_t columns : {1, 3, 8, 16, 17, 37, 64, 95}) {
    const std::int64_t stride = columns + 2;
    const std::vector<T> x = Numbers<T>(static_cast<std::size_t>(kRows * stride), false);
    for (const bool exclusive : {false, true}) {
      for (const bool product : {false, true}) {
        for (const bool backwards : {false, true}) {
          std::vector<T> y(x.size(), T(1));
          std::vector<Total> totals(static_cast<std::size_t>(columns), product ? Total(1) : Total(0));
          const std::int64_t first = backwards ? (kRows - 1) * stride : 0, step = backwards ? -stride : stride;
          run({exclusive, product}, x.data() + first, kRows, step, columns, totals.data(), y.data() + first);
          for (std::int64_t j = 0; j < columns; ++j) {
            Total total = product ? Total(1) : Total(0);
            for (std::int64_t k = 0; k < kRows; ++k) {
              const auto at = static_cast<std::size_t>(first + k * step + j);
              const auto element = static_cast<Total>(x[at]);
              const auto next = static_cast<Total>(product ? total * element : total + element);
              ASSERT_EQ(y[at], static_cast<T>(exclusive ? total : next)) << columns << " row " << k;
              total = next;
            }
          }
        }
      }
    }
  }
}

template <typename T>
void ExpectRowPlaces(ExtremeRowsFn<T>* find) {
  for (const std::int64_t n : {1, 3, 8, 9, 16, 31, 47, 64, 130, 200}) {
    const std::vector<T> x = Numbers<T>(static_cast<std::size_t>(kRows * n), n > 40);
    for (const bool min : {false, true}) {
      for (const bool last : {false, true}) {
        std::vector<std::int64_t> at(static_cast<std::size_t>(kRows), -1);
        find({min, last}, x.data(), kRows, n, at.data());
        for (std::int64_t r = 0; r < kRows; ++r) {
          std::int64_t place = 0;
          for (std::int64_t k = 1; k < n; ++k) {
            const T v = x[static_cast<std::size_t>(r * n + k)], best = x[static_cast<std::size_t>(r * n + place)];
            const bool equal = last && Same(v, best);
            const bool beyond = best == best && (v != v || (min ? v < best : v > best));
            if (equal || beyond) place = k;
          }
          ASSERT_EQ(at[static_cast<std::size_t>(r)], place) << n << " row " << r;
        }
      }
    }
  }
}

template <typename T>
void ExpectExtremes(ExtremePlacesFn<T>* find) {
  for (const std::int64_t columns : {1, 7, 32, 65}) {
    const std::vector<T> x = Numbers<T>(static_cast<std::size_t>(kRows * columns), true);
    for (const bool min : {false, true}) {
      for (const bool last : {false, true}) {
        std::vector<T> best(x.begin(), x.begin() + columns);
        std::vector<std::int32_t> at(static_cast<std::size_t>(columns), 0);
        find({min, last}, x.data() + columns, kRows - 1, columns, columns, best.data(), at.data());
        for (std::int64_t j = 0; j < columns; ++j) {
          T want = x[static_cast<std::size_t>(j)];
          std::int32_t place = 0;
          for (std::int64_t k = 1; k < kRows; ++k) {
            const T v = x[static_cast<std::size_t>(k * columns + j)];
            const bool equal = last && (v == want || (v != v && want != want));
            const bool beyond = want == want && (v != v || (min ? v < want : v > want));
            if (equal || beyond) want = v, place = static_cast<std::int32_t>(k - 1);
          }
          ASSERT_TRUE(Same(best[static_cast<std::size_t>(j)], want)) << j;
          ASSERT_EQ(at[static_cast<std::size_t>(j)], place) << j;
        }
      }
    }
  }
}

TEST(Columns, RunningSumsInEveryForm) {
  for (const auto& [isa, make] : Runnable(ColumnVariants())) {
    SCOPED_TRACE(Name(isa));
    const ColumnTable table = make();
    ExpectRunning(table.running.f32);
    ExpectRunning(table.running.f64);
    ExpectRunning(table.running.s32);
    ExpectRunning(table.running.u32);
    ExpectRunning(table.running.s64);
    ExpectRunning(table.running.u64);
  }
}

TEST(Columns, PlacesOfExtremesInEveryForm) {
  for (const auto& [isa, make] : Runnable(ColumnVariants())) {
    SCOPED_TRACE(Name(isa));
    const ColumnTable table = make();
    ExpectExtremes(table.extremes.f32);
    ExpectRowPlaces(table.extreme_rows.f32);
    ExpectExtremes(table.extremes.f64);
    ExpectRowPlaces(table.extreme_rows.f64);
    ExpectExtremes(table.extremes.s8);
    ExpectRowPlaces(table.extreme_rows.s8);
    ExpectExtremes(table.extremes.u8);
    ExpectRowPlaces(table.extreme_rows.u8);
    ExpectExtremes(table.extremes.s16);
    ExpectRowPlaces(table.extreme_rows.s16);
    ExpectExtremes(table.extremes.u16);
    ExpectRowPlaces(table.extreme_rows.u16);
    ExpectExtremes(table.extremes.s32);
    ExpectRowPlaces(table.extreme_rows.s32);
    ExpectExtremes(table.extremes.u32);
    ExpectRowPlaces(table.extreme_rows.u32);
    ExpectExtremes(table.extremes.s64);
    ExpectRowPlaces(table.extreme_rows.s64);
    ExpectExtremes(table.extremes.u64);
    ExpectRowPlaces(table.extreme_rows.u64);
  }
}

template <typename T>
void ExpectReducedExtremes(const ReduceExtremes<T>& extremes) {
  for (const std::int64_t n : {1, 2, 31, 32, 127, 128, 129, 700}) {
    const std::vector<T> x = Numbers<T>(static_cast<std::size_t>(n), n == 31 || n == 700);
    for (const bool min : {false, true}) {
      T want = x[0];
      for (const T v : x) want = v != v || (want == want && (min ? v < want : v > want)) ? v : want;
      EXPECT_TRUE(Same(extremes.row(min, x.data(), n), want)) << n;
      T rows[2] = {};
      std::vector<T> twice(x);
      twice.insert(twice.end(), x.begin(), x.end());
      extremes.rows(min, twice.data(), 2, n, rows);
      EXPECT_TRUE(Same(rows[0], want) && Same(rows[1], want)) << n;
      std::vector<T> acc(x.begin(), x.begin() + 1);
      extremes.columns(min, x.data(), n, 1, 1, acc.data());
      EXPECT_TRUE(Same(acc[0], want)) << n;
    }
  }
}

template <typename T>
void ExpectReducedSums(const ReduceSums<T>& sums) {
  using Wide = WideSum<T>;
  for (const std::int64_t n : {0, 1, 2, 15, 16, 17, 40, 700}) {
    const std::vector<T> x = Numbers<T>(static_cast<std::size_t>(n), false);
    for (const auto kind : {ReduceKind::kSum, ReduceKind::kSumAbs, ReduceKind::kSumSquare, ReduceKind::kProd}) {
      const Wide start = kind == ReduceKind::kProd ? Wide(1) : Wide(0);
      Wide want = start;
      for (const T v : x) {
        const auto wide = static_cast<Wide>(v);
        if (kind == ReduceKind::kProd) want *= wide;
        if (kind == ReduceKind::kSum) want += wide;
        if (kind == ReduceKind::kSumAbs) want += v < T(0) ? Wide(0) - wide : wide;
        if (kind == ReduceKind::kSumSquare) want += wide * wide;
      }
      EXPECT_EQ(sums.row(kind, x.data(), n), want) << n;
      std::vector<Wide> acc(1, start);
      sums.columns(kind, x.data(), n, 1, 1, acc.data());
      EXPECT_EQ(acc[0], want) << n;
    }
  }
}

TEST(ReduceAny, EveryForm) {
  for (const auto& [isa, make] : Runnable(ReduceAnyVariants())) {
    SCOPED_TRACE(Name(isa));
    const ReduceAnySet set = make();
    ExpectReducedExtremes(set.max_f64);
    ExpectReducedExtremes(set.max_s8);
    ExpectReducedExtremes(set.max_u8);
    ExpectReducedExtremes(set.max_s32);
    ExpectReducedExtremes(set.max_u32);
    ExpectReducedExtremes(set.max_s64);
    ExpectReducedExtremes(set.max_u64);
    ExpectReducedSums(set.sum_f64);
    ExpectReducedSums(set.sum_s32);
    ExpectReducedSums(set.sum_u32);
    ExpectReducedSums(set.sum_s64);
    ExpectReducedSums(set.sum_u64);
  }
}

}  // namespace
}  // namespace sardonyx::kernels
