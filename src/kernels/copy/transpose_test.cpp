// kernels/copy/transpose_test.cpp - every vector form that this CPU can run, against two plain loops.
#include "kernels/copy/transpose.h"

#include <gtest/gtest.h>

#include <vector>

namespace sardonyx::kernels {
namespace {

template <typename T>
void ExpectTransposed(TransposeFn<T>* run, std::int64_t rows, std::int64_t columns) {
  const std::int64_t from_stride = columns + 3, to_stride = rows + 5;
  std::vector<T> from(static_cast<std::size_t>(rows * from_stride));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i * 2654435761u);
  std::vector<T> got(static_cast<std::size_t>(columns * to_stride), T(7)), want = got;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      want[static_cast<std::size_t>(j * to_stride + i)] = from[static_cast<std::size_t>(i * from_stride + j)];
  run(rows, columns, from.data(), from_stride, got.data(), to_stride);
  EXPECT_EQ(got, want) << sizeof(T) << " bytes, " << rows << " x " << columns;
}

TEST(Transposes, EveryFormAndEdge) {
  for (const auto& [isa, make] : Runnable(TransposeVariants())) {
    SCOPED_TRACE(Name(isa));
    const TransposeTable table = make();
    for (const std::int64_t rows : {1, 2, 3, 7, 8, 9, 16, 33, 70}) {
      for (const std::int64_t columns : {1, 2, 5, 8, 15, 16, 40, 67}) {
        ExpectTransposed(table.u16, rows, columns);
        ExpectTransposed(table.u64, rows, columns);
      }
    }
  }
}

template <typename T>
void ExpectEvery(EveryFn<T>* run) {
  std::vector<T> from(500);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i * 2654435761u);
  for (const std::ptrdiff_t step : {-5, -1, 0, 1, 2, 3, 4, 7}) {
    for (const std::int64_t n : {0, 1, 5, 16, 33, 60}) {
      const std::ptrdiff_t first = step < 0 ? 400 : 0;
      std::vector<T> to(static_cast<std::size_t>(n + 1), T(9));
      run(from.data() + first, step, to.data(), n);
      for (std::int64_t i = 0; i < n; ++i)
        ASSERT_EQ(to[static_cast<std::size_t>(i)], from[static_cast<std::size_t>(first + i * step)])
            << step << " " << i;
      EXPECT_EQ(to.back(), T(9));
    }
  }
}

TEST(Transposes, ElementsAtEqualSteps) {
  for (const auto& [isa, make] : Runnable(TransposeVariants())) {
    SCOPED_TRACE(Name(isa));
    const TransposeTable table = make();
    ExpectEvery(table.every8);
    ExpectEvery(table.every16);
    ExpectEvery(table.every32);
    ExpectEvery(table.every64);
  }
}

}  // namespace
}  // namespace sardonyx::kernels
