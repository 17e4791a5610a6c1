#include "kernels/norm/short_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sardonyx::kernels {
namespace {

// What the row's values less `mean` are divided by.
double SizeOf(RowSize size, const std::vector<double>& row, double mean) {
  double sum = 0;
  for (const double v : row) sum += size == RowSize::kSumAbs ? std::abs(v) : (v - mean) * (v - mean);
  if (size == RowSize::kSumAbs) return sum;
  return std::sqrt(size == RowSize::kRootSumSquare ? sum : sum / static_cast<double>(row.size()) + 0.25);
}

template <typename T>
void CheckRows(RowSize size, std::int64_t n, bool scaled, Isa isa) {
  constexpr std::int64_t kRows = 5;
  const auto length = static_cast<std::size_t>(n);
  std::vector<T> x(kRows * length), scale(length), bias(length);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(std::sin(static_cast<double>(i * i + 1)));
  for (std::size_t i = 0; i < length; ++i) scale[i] = static_cast<T>(1 + std::cos(static_cast<double>(i)));
  for (std::size_t i = 0; i < length; ++i) bias[i] = static_cast<T>(std::sin(static_cast<double>(i)));
  std::vector<T> y = x;  // in place
  ShortRows<T> rows{size, y.data(), y.data(), kRows, n};
  rows.epsilon = 0.25;
  if (scaled) rows.scale = scale.data(), rows.bias = bias.data();
  ASSERT_EQ(DivideShortRows(rows, isa), kRows);
  for (std::size_t r = 0; r < kRows; ++r) {
    const std::vector<double> row(x.begin() + static_cast<std::ptrdiff_t>(r * length),
                                  x.begin() + static_cast<std::ptrdiff_t>((r + 1) * length));
    double mean = 0;
    for (const double v : row) mean += v / static_cast<double>(n);
    if (size != RowSize::kDeviation) mean = 0;
    const double divisor = SizeOf(size, row, mean);
    for (std::size_t i = 0; i < length; ++i) {
      const double factor = (scaled ? static_cast<double>(scale[i]) : 1) / divisor;
      const double want = (row[i] - mean) * factor + (scaled ? static_cast<double>(bias[i]) : 0);
      const double bound = sizeof(T) == 4 ? 40 * 0x1p-24 : 160 * 0x1p-53;
      ASSERT_NEAR(static_cast<double>(y[r * length + i]), want, bound * (std::abs(row[i] * factor) + std::abs(want)) +
                  bound) << Name(isa) << ' ' << n;
    }
  }
}

TEST(ShortRows, EveryLengthSizeAndIsaMatchesTheDefinition) {
  for (const Isa isa : SupportedIsas()) {
    for (const RowSize size : {RowSize::kSumAbs, RowSize::kRootSumSquare, RowSize::kRootMeanSquare, RowSize::kDeviation}) {
      for (std::int64_t n = 1; n <= 80; ++n) {
        CheckRows<float>(size, n, n % 2 == 0, isa);
        CheckRows<double>(size, n, n % 2 == 0, isa);
      }
      CheckRows<float>(size, 2048, true, isa);
      CheckRows<double>(size, 2047, false, isa);
    }
  }
}

TEST(ShortRows, StopsBeforeARowThatFloatsCannotSum) {
  for (const Isa isa : SupportedIsas()) {
    for (const float odd : {0.0F, 1e-30F, 1e30F, std::numeric_limits<float>::quiet_NaN()}) {
      std::vector<float> x(3 * 20, 1.0F), y(60);
      for (std::size_t i = 20; i < 40; ++i) x[i] = odd;
      const ShortRows<float> rows{RowSize::kRootSumSquare, x.data(), y.data(), 3, 20};
      EXPECT_EQ(DivideShortRows(rows, isa), 1) << Name(isa) << ' ' << odd;
    }
  }
}

}  // namespace
}  // namespace sardonyx::kernels
