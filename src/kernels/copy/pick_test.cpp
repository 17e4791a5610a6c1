// kernels/copy/pick_test.cpp - every vector form of the picking loops that this CPU can run, against one element after
// the other.
#include "kernels/copy/pick.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace sardonyx::kernels {
namespace {

template <typename T, typename Index>
void ExpectPicked(PickFn<Index>* pick) {
  constexpr std::int64_t kSize = 9;
  std::mt19937 random(3);
  for (const std::int64_t n : {1, 3, 4, 127, 128, 129, 300}) {
    for (const PickedRow row : {PickedRow{kSize, 1, 0}, PickedRow{kSize, n + 1, 1}, PickedRow{kSize, 5, 0}}) {
      std::vector<T> x(static_cast<std::size_t>(kSize * (n + 5)));
      for (T& v : x) v = static_cast<T>(random());
      std::vector<Index> indices(static_cast<std::size_t>(n));
      for (Index& i : indices) i = static_cast<Index>(static_cast<int>(random() % (2 * kSize)) - kSize);
      std::vector<T> y(indices.size());
      ASSERT_EQ(pick(row, x.data(), indices.data(), n, y.data()), n);
      for (std::size_t j = 0; j < y.size(); ++j) {
        const std::int64_t i = indices[j] < 0 ? indices[j] + kSize : indices[j];
        ASSERT_EQ(y[j], x[static_cast<std::size_t>(i * row.stride + static_cast<std::int64_t>(j) * row.next)]) << j;
      }
      for (const Index bad :
           {Index(kSize), Index(-kSize - 1), std::numeric_limits<Index>::min(), std::numeric_limits<Index>::max()}) {
        std::vector<Index> wrong = indices;
        wrong.back() = bad;
        EXPECT_EQ(pick(row, x.data(), wrong.data(), n, y.data()), n - 1) << bad;
      }
    }
  }
}

template <typename T>
void ExpectBoth(const PickLoops& loops) {
  ASSERT_NE(loops.by_int32, nullptr);
  ASSERT_NE(loops.by_int64, nullptr);
  ExpectPicked<T, std::int32_t>(loops.by_int32);
  ExpectPicked<T, std::int64_t>(loops.by_int64);
}

TEST(Pick, EveryFormPicksAndFindsTheWrongIndex) {
  for (const auto& [isa, find] : Runnable(PickVariants())) {
    SCOPED_TRACE(Name(isa));
    ExpectBoth<std::uint8_t>(find(1));
    ExpectBoth<std::uint16_t>(find(2));
    ExpectBoth<std::uint32_t>(find(4));
    ExpectBoth<std::uint64_t>(find(8));
    EXPECT_EQ(find(16).by_int64, nullptr);
  }
}

}  // namespace
}  // namespace sardonyx::kernels
