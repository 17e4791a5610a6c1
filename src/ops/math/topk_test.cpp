// ops/math/topk_test.cpp - TopK with ties, with a k much smaller than the axis, and of version 1.
#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace sardonyx
