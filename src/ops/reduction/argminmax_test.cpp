// ops/reduction/argminmax_test.cpp - ArgMax and ArgMin: ties, NaN, empty axes.
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

TEST(ArgMax, FindsTheFirstOrTheLast) {
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"ArgMax", 13, {kX}, {{"axis", std::int64_t{1}}}})[0]), (Longs{1, 2}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp(
                {"ArgMax", 13, {kX}, {{"axis", std::int64_t{1}}, {"select_last_index", std::int64_t{1}}}})[0]),
            (Longs{2, 2}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"ArgMin", 13, {kX}})[0]), (Longs{0, 1, 0}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"ArgMax", 13, {Floats({1, NAN, 5})}})[0]), (Longs{1}));
  EXPECT_NE(ErrorOfOp({"ArgMax", 13, {Tensor(DType::kFloat, Shape{0})}}).find("expected elements along axis"),
            std::string::npos);
  const Tensor nothing(DType::kFloat, Shape{0, 0});  // no result is asked for
  EXPECT_EQ(EvaluateOp({"ArgMax", 13, {nothing}, {{"axis", std::int64_t{1}}}})[0].tensor().shape(), (Shape{0, 1}));
}

}  // namespace
}  // namespace sardonyx
