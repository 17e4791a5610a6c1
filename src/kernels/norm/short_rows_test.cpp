#include "kernels/norm/short_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sardonyx::kernels {
namespace {

template <typename T>
void CheckRows(RowSize size, std::int64_t n, bool scaled, Isa isa) {
  constexpr std::int64_t kRows = 5;
  std::vector<T> x(static_cast<std::size_t>(kRows * n)), scale(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(std::sin(static_cast<double>(i * i + 1)));
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = static_cast<T>(1 + std::cos(static_cast<double>(i)));
  std::vector<T> y = x;  // in place
  const ShortRows<T> rows{size, y.data(), y.data(), kRows, n, scaled ? scale.data() : nullptr, 0.25};
  ASSERT_EQ(DivideShortRows(rows, isa), kRows);
  for (std::int64_t r = 0; r < kRows; ++r) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<double>(x[static_cast<std::size_t>(r * n + i)]);
      sum += size == RowSize::kSumAbs ? std::abs(v) : v * v;
    }
    const double divisor = size == RowSize::kSumAbs          ? sum
                           : size == RowSize::kRootSumSquare ? std::sqrt(sum)
                                                             : std::sqrt(sum / static_cast<double>(n) + 0.25);
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(r * n + i);
      const double want = static_cast<double>(x[at]) / divisor *
                          (scaled ? static_cast<double>(scale[static_cast<std::size_t>(i)]) : 1);
      const double bound = sizeof(T) == 4 ? 40 * 0x1p-24 : 160 * 0x1p-53;
      ASSERT_NEAR(static_cast<double>(y[at]), want, bound * std::abs(want) + 1e-300) << Name(isa) << ' ' << n;
    }
  }
}

TEST(ShortRows, EveryLengthSizeAndIsaMatchesTheDefinition) {
  for (const Isa isa : SupportedIsas()) {
    for (const RowSize size : {RowSize::kSumAbs, RowSize::kRootSumSquare, RowSize::kRootMeanSquare}) {
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
