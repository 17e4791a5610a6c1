// ops/tensor/shape_test.cpp - Shape, Size, Reshape, Flatten, Squeeze, Unsqueeze, Expand, Tile.
#include <gtest/gtest.h>

#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

const Tensor kCube = Tensor(DType::kFloat, Shape{2, 3, 4});

Shape ShapeOf(const std::vector<Value>& values) { return values[0].tensor().shape(); }

TEST(ShapeOps, ShapeTakesARange) {
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Shape", 25, {kCube}})[0]), (std::vector<std::int64_t>{2, 3, 4}));
  EXPECT_EQ(Elements<std::int64_t>(
                EvaluateOp({"Shape", 15, {kCube}, {{"start", std::int64_t{-2}}, {"end", std::int64_t{99}}}})[0]),
            (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(ShapeOf(EvaluateOp({"Shape", 15, {kCube}, {{"start", std::int64_t{2}}, {"end", std::int64_t{1}}}})),
            Shape{0});
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Size", 1, {Tensor(DType::kInt4, Shape{0, 3})}})[0])[0], 0);
}

TEST(ShapeOps, ReshapeResolvesZeroAndMinusOne) {
  EXPECT_EQ(ShapeOf(EvaluateOp({"Reshape", 14, {kCube, Ints({0, -1})}})), (Shape{2, 12}));
  EXPECT_EQ(ShapeOf(EvaluateOp({"Reshape", 1, {kCube}, {{"shape", std::vector<std::int64_t>{4, 6}}}})), (Shape{4, 6}));
  const Tensor empty(DType::kFloat, Shape{0, 3});
  EXPECT_EQ(ShapeOf(EvaluateOp({"Reshape", 14, {empty, Ints({3, 0})}, {{"allowzero", std::int64_t{1}}}})),
            (Shape{3, 0}));
  EXPECT_EQ(ShapeOf(EvaluateOp({"Reshape", 14, {empty, Ints({0, 0, -1})}})), (Shape{0, 3, 0}));
  EXPECT_EQ(ShapeOf(EvaluateOp({"Reshape", 14, {Tensor::Scalar(1.0f), Ints({})}})), (Shape{}));
}

TEST(ShapeOps, ReshapeSaysWhichCountsDiffer) {
  const std::string error = ErrorOfOp({"Reshape", 14, {kCube, Ints({5, 5})}});
  EXPECT_NE(error.find("expected a shape of 24 elements for an input of shape [2, 3, 4], found [5, 5] (25 elements)"),
            std::string::npos)
      << error;
  EXPECT_NE(ErrorOfOp({"Reshape", 14, {kCube, Ints({-1, -1})}}).find("at most one -1"), std::string::npos);
  EXPECT_NE(ErrorOfOp({"Reshape", 14, {kCube, Ints({-1, 7})}}).find("cannot infer the -1"), std::string::npos);
}

TEST(ShapeOps, FlattenSqueezeUnsqueeze) {
  EXPECT_EQ(ShapeOf(EvaluateOp({"Flatten", 13, {kCube}, {{"axis", std::int64_t{-1}}}})), (Shape{6, 4}));
  EXPECT_EQ(ShapeOf(EvaluateOp({"Flatten", 13, {Tensor::Scalar(1.0f)}, {{"axis", std::int64_t{0}}}})), (Shape{1, 1}));
  const Tensor x(DType::kString, Shape{1, 3, 1});
  EXPECT_EQ(ShapeOf(EvaluateOp({"Squeeze", 13, {x}})), (Shape{3}));
  EXPECT_EQ(ShapeOf(EvaluateOp({"Squeeze", 11, {x}, {{"axes", std::vector<std::int64_t>{-1}}}})), (Shape{1, 3}));
  EXPECT_EQ(ShapeOf(EvaluateOp({"Unsqueeze", 13, {x, Ints({0, -1})}})), (Shape{1, 1, 3, 1, 1}));
  EXPECT_NE(ErrorOfOp({"Squeeze", 13, {x, Ints({1})}}).find("expected dimension 1 at axis 1"), std::string::npos);
  EXPECT_NE(ErrorOfOp({"Unsqueeze", 13, {x, Ints({0, 0})}}).find("each axis once, found axis 0 twice"),
            std::string::npos);
  EXPECT_NE(ErrorOfOp({"Flatten", 13, {x}, {{"axis", std::int64_t{5}}}}).find("expected an axis in [-3, 3]"),
            std::string::npos);
}

TEST(ShapeOps, ExpandAndTileRepeat) {
  const Tensor x = Tensor::Of<std::int32_t>({1, 2, 3}, Shape{3, 1});
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"Expand", 13, {x, Ints({2, 1, 2})}})[0]),
            (std::vector<std::int32_t>{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(ShapeOf(EvaluateOp({"Expand", 13, {x, Ints({0, 3, 1})}})), (Shape{0, 3, 1}));
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"Tile", 13, {x, Ints({2, 2})}})[0]),
            (std::vector<std::int32_t>{1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(Elements<std::int32_t>(EvaluateOp({"Tile", 1, {x, Ints({2}), Ints({1})}})[0]),
            (std::vector<std::int32_t>{1, 1, 2, 2, 3, 3}));
  const Tensor half = Tensor::Of<Half>({Half(2.0f), Half(3.0f)}, Shape{2});
  EXPECT_EQ(EvaluateOp({"Tile", 1, {half, Tensor::Scalar(Half(2.0f)), Tensor::Scalar(Half(0.0f))}})[0].tensor().shape(),
            (Shape{4}));
  EXPECT_NE(ErrorOfOp({"Tile", 13, {x, Ints({2})}}).find("one repeat per dimension"), std::string::npos);
  EXPECT_NE(ErrorOfOp({"Expand", 13, {x, Ints({2, 2})}}).find("broadcast"), std::string::npos);
}

}  // namespace
}  // namespace sardonyx::testing
