// ops/image/resize_test.cpp - Resize, Upsample, DepthToSpace, SpaceToDepth, GridSample, AffineGrid, Col2Im,
// CenterCropPad.
#include <gtest/gtest.h>

#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Reals = std::vector<float>;
using Longs = std::vector<std::int64_t>;
using Text = std::string;

const Tensor kSquare = Tensor::Of<float>({1, 2, 3, 4}, Shape{1, 1, 2, 2});

Reals Resize(Tensor x, Value scales, Value sizes, std::vector<Attribute> attributes) {
  return Elements<float>(EvaluateOp({"Resize", 19, {x, Value(), scales, sizes}, std::move(attributes)})[0]);
}

TEST(ResizeOp, NearestRepeatsAndLinearBlends) {
  EXPECT_EQ(Resize(kSquare, Floats({1, 1, 1, 2}), {}, {}), (Reals{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(Resize(kSquare, Floats({1, 1, 2, 1}), {}, {}), (Reals{1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(Resize(kSquare, {}, Ints({1, 1, 2, 4}), {{"mode", Text("linear")}}),
            (Reals{1, 1.25, 1.75, 2, 3, 3.25, 3.75, 4}));
  EXPECT_EQ(Resize(kSquare, {}, Ints({1, 1, 3, 3}),
                   {{"mode", Text("linear")}, {"coordinate_transformation_mode", Text("align_corners")}}),
            (Reals{1, 1.5, 2, 2, 2.5, 3, 3, 3.5, 4}));
}

TEST(ResizeOp, KeepsTheAspectRatioOfChosenAxes) {
  const auto y = EvaluateOp({"Resize",
                             19,
                             {Tensor(DType::kUInt8, Shape{1, 4, 8}), Value(), Value(), Ints({8, 8})},
                             {{"axes", Longs{1, 2}}, {"keep_aspect_ratio_policy", Text("not_larger")}}});
  EXPECT_EQ(y[0].tensor().shape(), (Shape{1, 4, 8}));
}

TEST(ResizeOp, HandlesOtherTypesAndNamesWrongOnes) {
  const Tensor words = Tensor::Of<std::string>({"a", "b"}, Shape{2});
  EXPECT_EQ(Elements<std::string>(EvaluateOp({"Resize", 19, {words, Value(), Floats({2})}})[0]),
            (std::vector<std::string>{"a", "a", "b", "b"}));
  EXPECT_NE(ErrorOfOp({"Resize", 19, {words, Value(), Floats({2})}, {{"mode", Text("linear")}}}).find("string"),
            Text::npos);
  EXPECT_NE(ErrorOfOp({"Resize", 19, {kSquare, Value(), Floats({2})}}).find("expected 4 scales, found 1"), Text::npos);
  EXPECT_NE(ErrorOfOp({"Resize", 19, {kSquare, Value(), Floats({1, 1, 0, 1})}}).find("scales above 0"), Text::npos);
  EXPECT_NE(ErrorOfOp({"Resize", 19, {kSquare, Value(), Floats({1, 1, 1, 1})}, {{"mode", Text("area")}}})
                .find("found 'area'"),
            Text::npos);
}

TEST(UpsampleOp, TakesItsScalesFromAttributes) {
  EXPECT_EQ(Elements<float>(EvaluateOp({"Upsample", 7, {kSquare}, {{"scales", Reals{1, 1, 1, 2}}}})[0]),
            (Reals{1, 1, 2, 2, 3, 3, 4, 4}));
}

TEST(DepthSpaceOps, UndoEachOther) {
  Tensor x(DType::kFloat, Shape{1, 8, 2, 3});
  for (std::int64_t i = 0; i < x.count(); ++i) x.data<float>()[i] = static_cast<float>(i);
  for (const char* mode : {"DCR", "CRD"}) {
    const std::vector<Attribute> attributes = {{"blocksize", std::int64_t{2}}, {"mode", Text(mode)}};
    const auto wide = EvaluateOp({"DepthToSpace", 13, {x}, attributes});
    EXPECT_EQ(wide[0].tensor().shape(), (Shape{1, 2, 4, 6}));
    EXPECT_EQ(Elements<float>(EvaluateOp({"SpaceToDepth", 28, {wide[0]}, attributes})[0]), Elements<float>(x));
  }
  EXPECT_NE(ErrorOfOp({"DepthToSpace", 13, {x}, {{"blocksize", std::int64_t{3}}}}).find("divisible by 9, found 8"),
            Text::npos);
  EXPECT_NE(
      ErrorOfOp({"SpaceToDepth", 13, {x}, {{"blocksize", std::int64_t{2}}}}).find("width divisible by 2, found 3"),
      Text::npos);
}

TEST(GridSampleOp, ReadsBetweenPixels) {
  const Tensor grid = Tensor::Of<float>({0, 0, -1, -1, 5, 5}, Shape{1, 1, 3, 2});
  EXPECT_EQ(Elements<float>(EvaluateOp({"GridSample", 20, {kSquare, grid}, {{"align_corners", std::int64_t{1}}}})[0]),
            (Reals{2.5, 1, 0}));
  EXPECT_EQ(
      Elements<float>(EvaluateOp(
          {"GridSample", 16, {kSquare, grid}, {{"mode", Text("nearest")}, {"padding_mode", Text("border")}}})[0])[2],
      4);
  EXPECT_NE(ErrorOfOp({"GridSample", 20, {kSquare, Tensor(DType::kFloat, Shape{1, 1, 3, 3})}}).find("expected X [N, C"),
            Text::npos);
}

TEST(AffineGridOp, TurnsTheIdentityIntoPixelCentres) {
  const Tensor theta = Tensor::Of<float>({1, 0, 0, 0, 1, 0}, Shape{1, 2, 3});
  EXPECT_EQ(Elements<float>(EvaluateOp({"AffineGrid", 20, {theta, Ints({1, 1, 1, 2})}})[0]), (Reals{-0.5, 0, 0.5, 0}));
  EXPECT_NE(ErrorOfOp({"AffineGrid", 20, {theta, Ints({2, 1, 1, 2})}}).find("found [1, 2, 3]"), Text::npos);
}

TEST(Col2ImOp, AddsOverlappingBlocks) {
  const Tensor x = Tensor::Of<float>({1, 2, 10, 20}, Shape{1, 2, 2});
  EXPECT_EQ(Elements<float>(EvaluateOp({"Col2Im", 18, {x, Ints({3}), Ints({2})}})[0]), (Reals{1, 12, 20}));
  EXPECT_NE(ErrorOfOp({"Col2Im", 18, {x, Ints({9}), Ints({2})}}).find("expected an input [N, multiple of 2, 8]"),
            Text::npos);
}

TEST(CenterCropPadOp, CutsAndPads) {
  const Tensor x = Tensor::Of<float>({1, 2, 3, 4, 5, 6}, Shape{3, 2});
  EXPECT_EQ(Elements<float>(EvaluateOp({"CenterCropPad", 18, {x, Ints({1, 4})}})[0]), (Reals{0, 3, 4, 0}));
  EXPECT_NE(ErrorOfOp({"CenterCropPad", 18, {x, Ints({1})}}).find("expected 2 sizes"), Text::npos);
}

}  // namespace
}  // namespace sardonyx::testing
