// ops/math/cumulative_test.cpp - CumSum and CumProd in both directions.
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

const Tensor kX = Tensor::Of<float>({1, 3, 3, 2, 0, 5}, Shape{2, 3});

TEST(Cumulative, RunsBothWays) {
  const std::vector<Attribute> both = {{"reverse", std::int64_t{1}}, {"exclusive", std::int64_t{1}}};
  const Tensor axis = Tensor::Scalar<std::int64_t>(1);
  EXPECT_EQ(Elements<float>(EvaluateOp({"CumSum", 14, {kX, axis}})[0]), (std::vector<float>{1, 4, 7, 2, 2, 7}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"CumSum", 14, {kX, axis}, both})[0]), (std::vector<float>{6, 3, 0, 5, 5, 0}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"CumProd", 26, {kX, axis}})[0]), (std::vector<float>{1, 3, 9, 2, 0, 0}));
  EXPECT_NE(ErrorOfOp({"CumSum", 14, {kX, Tensor::Scalar<std::int64_t>(2)}}).find("2"), std::string::npos);
}

}  // namespace
}  // namespace sardonyx
