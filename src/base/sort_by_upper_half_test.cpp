// base/sort_by_upper_half_test.cpp - sorted numbers are in the order that a stable sort gives.
#include "base/sort_by_upper_half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace sardonyx {
namespace {

TEST(SortByUpperHalf, EqualKeysStayInOrder) {
  std::mt19937 engine(1);
  for (const std::size_t n : {0, 1, 2, 3, 100, 1000, 5000})
    for (const std::uint32_t values : {1u, 3u, 1000u, 0xFFFFFFFFu}) {
      std::vector<std::uint64_t> numbers, other(n);
      for (std::size_t i = 0; i < n; ++i)
        numbers.push_back(std::uint64_t{static_cast<std::uint32_t>(engine()) % values * (0xFFFFFFFFu / values)} << 32 |
                          (n - i));
      std::vector<std::uint64_t> wanted = numbers;
      std::stable_sort(wanted.begin(), wanted.end(),
                       [](std::uint64_t a, std::uint64_t b) { return a >> 32 < b >> 32; });
      SortByUpperHalf(numbers.data(), other.data(), n);
      EXPECT_EQ(numbers, wanted) << n << " numbers of " << values << " values";
    }
}

}  // namespace
}  // namespace sardonyx
