// ops/image/region_test.cpp - NonMaxSuppression, RoiAlign and MaxRoiPool.
#include <gtest/gtest.h>

#include <cmath>

#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Reals = std::vector<float>;
using Longs = std::vector<std::int64_t>;
using Text = std::string;

TEST(RegionOps, KeepTheBestBoxes) {
  const Tensor boxes = Tensor::Of<float>({0, 0, 1, 1, 1, 1, 0, 0.1f, 0, 2, 1, 3}, Shape{1, 3, 4});
  const Tensor scores = Tensor::Of<float>({0.5f, 0.9f, 0.1f}, Shape{1, 1, 3});
  const auto nms = EvaluateOp({"NonMaxSuppression", 11, {boxes, scores, Ints({5}), Floats({0.5f}), Floats({0.2f})}});
  EXPECT_EQ(Elements<std::int64_t>(nms[0]), (Longs{0, 0, 1}));
  EXPECT_EQ(EvaluateOp({"NonMaxSuppression", 11, {boxes, scores}})[0].tensor().shape(), (Shape{0, 3}));
  EXPECT_NE(ErrorOfOp({"NonMaxSuppression", 11, {boxes, scores, Ints({5}), Floats({2})}}).find("in [0, 1], found 2"),
            Text::npos);
  EXPECT_NE(ErrorOfOp({"NonMaxSuppression", 11, {boxes, scores, Ints({5}), Floats({NAN})}}).find("in [0, 1]"),
            Text::npos);
  const Tensor image = Tensor::Of<float>({1, 2, 3, 4}, Shape{1, 1, 2, 2});
  const Tensor roi = Tensor::Of<float>({0, 0, 2, 2}, Shape{1, 4});
  EXPECT_EQ(Elements<float>(EvaluateOp({"RoiAlign", 16, {image, roi, Ints({0})}})[0]), (Reals{2.5}));
  EXPECT_NE(ErrorOfOp({"RoiAlign", 16, {image, roi, Ints({1})}}).find("found 1"), Text::npos);
  const Tensor pool = Tensor::Of<float>({0, 0, 0, 1, 1}, Shape{1, 5});
  EXPECT_EQ(Elements<float>(EvaluateOp({"MaxRoiPool", 1, {image, pool}, {{"pooled_shape", Longs{1, 2}}}})[0]),
            (Reals{3, 4}));
  EXPECT_NE(ErrorOfOp({"MaxRoiPool", 1, {image, roi}, {{"pooled_shape", Longs{1, 2}}}}).find("rois [R, 5]"),
            Text::npos);
}

}  // namespace
}  // namespace sardonyx::testing
