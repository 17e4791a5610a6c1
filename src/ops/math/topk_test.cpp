// ops/math/topk_test.cpp - TopK with ties, with a k much smaller than the axis, and of version 1.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "testing/evaluate_op.h"

namespace sardonyx {
namespace {

using testing::Elements;
using testing::ErrorOfOp;
using testing::EvaluateOp;
using testing::Floats;
using testing::Ints;
using Longs = std::vector<std::int64_t>;

TEST(TopK, PrefersTheFirstOfEqualElements) {
  const auto y = EvaluateOp({"TopK", 24, {Floats({2, 7, 7, 1}), Ints({3})}, {}, 2});
  EXPECT_EQ(Elements<float>(y[0]), (std::vector<float>{7, 7, 2}));
  EXPECT_EQ(Elements<std::int64_t>(y[1]), (Longs{1, 2, 0}));
  std::vector<float> many(1000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i * 7919 % 1000);
  const auto few =
      EvaluateOp({"TopK", 24, {Tensor::Vector<float>(many), Ints({3})}, {{"largest", std::int64_t{0}}}, 2});
  EXPECT_EQ(Elements<float>(few[0]), (std::vector<float>{0, 1, 2}));
  const auto old = EvaluateOp({"TopK", 1, {Floats({2, 7})}, {{"k", std::int64_t{1}}}, 2});
  EXPECT_EQ(Elements<float>(old[0]), (std::vector<float>{7}));
  EXPECT_NE(ErrorOfOp({"TopK", 24, {Floats({2}), Ints({3})}, {}, 2}).find("found 3"), std::string::npos);
}

// The places that a stable sort of each column puts first.
template <typename T>
void ExpectSortedColumns(std::int64_t outer, std::int64_t n, std::int64_t inner, std::int64_t k, bool largest) {
  std::mt19937 random(static_cast<unsigned>(n * 31 + k));
  std::vector<T> x(static_cast<std::size_t>(outer * n * inner));
  for (T& v : x) v = static_cast<T>(static_cast<int>(random() % 100) - (std::is_signed_v<T> ? 50 : 0));
  if constexpr (std::is_floating_point_v<T>) {
    for (std::size_t i = 3; i < x.size(); i += 13) x[i] = i % 2 == 0 ? std::numeric_limits<T>::quiet_NaN() : -T(0);
  } else {
    for (std::size_t i = 3; i < x.size(); i += 13)
      x[i] = i % 2 == 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  }
  Tensor tensor(kDTypeOf<T>, Shape{outer, n, inner});
  std::ranges::copy(x, tensor.data<T>());
  const auto y =
      EvaluateOp({"TopK", 24, {tensor, Ints({k})}, {{"axis", std::int64_t{1}}, {"largest", std::int64_t{largest}}}, 2});
  const std::vector<T> values = Elements<T>(y[0]);
  const Longs places = Elements<std::int64_t>(y[1]);
  const auto less = [](T a, T b) { return a == a && (b != b || a < b); };  // NaN is the greatest
  for (std::int64_t i = 0; i < outer * inner; ++i) {
    const auto at = [&](std::int64_t place, std::int64_t rows) {
      return static_cast<std::size_t>((i / inner * rows + place) * inner + i % inner);
    };
    Longs order(static_cast<std::size_t>(n));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
      return largest ? less(x[at(b, n)], x[at(a, n)]) : less(x[at(a, n)], x[at(b, n)]);
    });
    for (std::int64_t j = 0; j < k; ++j) {
      const std::int64_t place = order[static_cast<std::size_t>(j)];
      ASSERT_EQ(places[at(j, k)], place) << n << " " << k << " column " << i;
      const T value = values[at(j, k)], want = x[at(place, n)];
      ASSERT_TRUE(value == want || (value != value && want != want));
    }
  }
}

TEST(TopK, RanksEveryTypeAlongAnyAxis) {
  for (const bool largest : {false, true}) {
    for (const std::int64_t n : {1, 10, 16, 17, 60, 700}) {
      for (const std::int64_t inner : {1, 5, 37}) {
        const std::int64_t some = std::max<std::int64_t>(1, n / 3);
        ExpectSortedColumns<float>(2, n, inner, some, largest);
        ExpectSortedColumns<double>(2, n, inner, std::min<std::int64_t>(n, 4), largest);
        ExpectSortedColumns<std::int8_t>(2, n, inner, n, largest);
        ExpectSortedColumns<std::uint8_t>(1, n, inner, some, largest);
        ExpectSortedColumns<std::int16_t>(1, n, inner, some, largest);
        ExpectSortedColumns<std::uint32_t>(1, n, inner, std::min<std::int64_t>(n, 4), largest);
        ExpectSortedColumns<std::int64_t>(2, n, inner, some, largest);
        ExpectSortedColumns<std::uint64_t>(1, n, inner, some, largest);
      }
    }
  }
}

}  // namespace
}  // namespace sardonyx
