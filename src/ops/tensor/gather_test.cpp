// ops/tensor/gather_test.cpp - Transpose, Concat, Split, Slice, Gather, GatherElements, GatherND.
#include <gtest/gtest.h>

#include <climits>

#include "testing/evaluate_op.h"
#include "testing/prepared_graph.h"

namespace sardonyx::testing {
namespace {

using Longs = std::vector<std::int64_t>;
const Tensor kTable = Tensor::Of<std::int64_t>({0, 1, 2, 3, 4, 5}, Shape{2, 3});

TEST(TransposeOp, SwapsAxesAndChecksPerm) {
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Transpose", 13, {kTable}})[0]), (Longs{0, 3, 1, 4, 2, 5}));
  const Tensor words = Tensor::Of<std::string>({"a", "b", "c", "d"}, Shape{2, 2});
  EXPECT_EQ(Elements<std::string>(EvaluateOp({"Transpose", 1, {words}, {{"perm", Longs{1, 0}}}})[0]),
            (std::vector<std::string>{"a", "c", "b", "d"}));
  EXPECT_NE(ErrorOfOp({"Transpose", 13, {kTable}, {{"perm", Longs{0, 0}}}}).find("permutation of 2 axes, found [0, 0]"),
            std::string::npos);
}

TEST(ConcatOp, JoinsAlongTheAxis) {
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Concat", 13, {kTable, kTable}, {{"axis", std::int64_t{-1}}}})[0]),
            (Longs{0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(EvaluateOp({"Concat", 1, {kTable, kTable}})[0].tensor().shape(), (Shape{2, 6}));
  EXPECT_NE(ErrorOfOp({"Concat", 13, {kTable, Tensor(DType::kInt64, Shape{3, 3})}, {{"axis", std::int64_t{1}}}})
                .find("differ in dimension 1 only"),
            std::string::npos);
}

// As in ONNX Runtime; transformers.js gives a past of the shape [0, heads, 0, size] before the first token.
TEST(ConcatOp, TakesEmptyInputsOfOtherDimensions) {
  const Tensor none(DType::kInt64, Shape{0, 0}), five(DType::kInt64, Shape{5, 0});
  const decltype(OpCall::attributes) axis = {{"axis", std::int64_t{1}}};
  for (const auto& inputs : {std::vector<Value>{none, kTable}, {kTable, none}, {five, none, kTable, five}}) {
    const Value y = EvaluateOp({"Concat", 13, inputs, axis})[0];
    EXPECT_EQ(y.tensor().shape(), (Shape{2, 3}));
    EXPECT_EQ(Elements<std::int64_t>(y), (Longs{0, 1, 2, 3, 4, 5}));
  }
  EXPECT_EQ(EvaluateOp({"Concat", 13, {five, none}, axis})[0].tensor().shape(), (Shape{5, 0}));
  EXPECT_NE(ErrorOfOp({"Concat", 13, {kTable, Tensor(DType::kInt64, Shape{0, 1})}, axis})
                .find("differ in dimension 1 only, found"),
            std::string::npos);
  EXPECT_NE(ErrorOfOp({"Concat", 13, {kTable, Tensor(DType::kInt64, Shape{0})}, axis}).find("differ in dimension 1"),
            std::string::npos);
}

TEST(ConcatOp, OtherDimensionsOfWhatMayBeEmptyShowAtRunTime) {
  const ops::Registry registry;
  const auto shape_of = [&](const std::string& inputs) {
    const Graph graph = PreparedGraph("g (" + inputs + ") => (y) { y = Concat <axis = 1> (a, b) }", registry);
    return graph.value(graph.outputs[0]).type.ToText();
  };
  EXPECT_EQ(shape_of("float[2,n] a, float[3,4] b"), R"(float[3,"n + 4"])");
  EXPECT_EQ(shape_of("float[2,4] a, float[3,n] b"), R"(float[2,"n + 4"])");
  EXPECT_EQ(shape_of("float[2,m] a, float[3,n] b"), R"(float[?,"m + n"])");
  EXPECT_EQ(shape_of("float[2,m] a, float[k,n] b"), R"(float[2,"m + n"])");
}

TEST(SplitOp, CutsEvenlyOrAsTold) {
  const auto parts = EvaluateOp({"Split", 13, {kTable, Ints({1, 2})}, {{"axis", std::int64_t{1}}}, 2});
  EXPECT_EQ(Elements<std::int64_t>(parts[0]), (Longs{0, 3}));
  EXPECT_EQ(Elements<std::int64_t>(parts[1]), (Longs{1, 2, 4, 5}));
  const auto uneven =
      EvaluateOp({"Split", 18, {kTable}, {{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}}, 2});
  EXPECT_EQ(uneven[1].tensor().shape(), (Shape{2, 1}));
  EXPECT_EQ(EvaluateOp({"Split", 2, {kTable}, {{"split", Longs{0, 2}}}, 2})[0].tensor().shape(), (Shape{0, 3}));
  EXPECT_NE(ErrorOfOp({"Split", 13, {kTable}, {{"axis", std::int64_t{1}}}, 2}).find("divisible by 2"),
            std::string::npos);
  EXPECT_NE(ErrorOfOp({"Split", 13, {kTable, Ints({1, 5})}, {}, 2}).find("with the sum 2"), std::string::npos);
}

TEST(SliceOp, ClampsAsNumPy) {
  const auto slice = [](Tensor x, Tensor starts, Tensor ends, Tensor axes, Tensor steps) {
    return Elements<std::int64_t>(EvaluateOp({"Slice", 13, {x, starts, ends, axes, steps}})[0]);
  };
  EXPECT_EQ(slice(kTable, Ints({0, 0}), Ints({1, INT64_MAX}), Ints({0, -1}), Ints({1, 2})), (Longs{0, 2}));
  EXPECT_EQ(slice(kTable, Ints({-1}), Ints({INT64_MIN}), Ints({1}), Ints({-1})), (Longs{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(slice(kTable, Ints({5}), Ints({9}), Ints({1}), Ints({1})), (Longs{}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Slice", 1, {kTable}, {{"starts", Longs{1}}, {"ends", Longs{2}}}})[0]),
            (Longs{3, 4, 5}));
  EXPECT_NE(ErrorOfOp({"Slice", 13, {kTable, Ints({0}), Ints({1}), Ints({0}), Ints({0})}}).find("steps other than 0"),
            std::string::npos);
}

TEST(GatherOp, PicksRowsAndChecksIndices) {
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Gather", 13, {kTable, Ints({-1, 0})}, {{"axis", std::int64_t{1}}}})[0]),
            (Longs{2, 0, 5, 3}));
  EXPECT_EQ(EvaluateOp({"Gather", 13, {kTable, Tensor(DType::kInt32, Shape{0, 2})}})[0].tensor().shape(),
            (Shape{0, 2, 3}));
  EXPECT_NE(ErrorOfOp({"Gather", 13, {kTable, Ints({2})}}).find("expected indices in [-2, 1] along the axis, found 2"),
            std::string::npos);
}

TEST(GatherOp, PicksAColumn) {
  const auto column = [](std::int64_t index) {
    return OpCall{"Gather", 13, {kTable, Tensor::Scalar<std::int64_t>(index)}, {{"axis", std::int64_t{1}}}};
  };
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp(column(-1))[0]), (Longs{2, 5}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp(column(1))[0]), (Longs{1, 4}));
  EXPECT_NE(ErrorOfOp(column(3)).find("expected indices in [-3, 2] along the axis, found 3"), std::string::npos);
}

TEST(GatherOp, MovesPackedElements) {
  Tensor x(DType::kUInt4, Shape{2, 3});  // 1 2 3 / 4 5 6
  const std::uint8_t bytes[] = {0x21, 0x43, 0x65};
  std::copy(std::begin(bytes), std::end(bytes), x.data<std::uint8_t>());
  const auto y = EvaluateOp({"Gather", 13, {x, Ints({1, 0, 1})}})[0];
  const auto* found = y.tensor().data<std::uint8_t>();
  EXPECT_EQ(found[0], 0x54);
  EXPECT_EQ(found[1], 0x16);
  EXPECT_EQ(found[2], 0x32);
  EXPECT_EQ(found[3], 0x54);
  EXPECT_EQ(found[4] & 15, 6);
}

TEST(GatherElementsOp, PicksOnePerIndex) {
  EXPECT_EQ(Elements<std::int64_t>(
                EvaluateOp({"GatherElements", 13, {kTable, Tensor::Of<std::int64_t>({1, 0}, Shape{1, 2})}})[0]),
            (Longs{3, 1}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"GatherElements",
                                               13,
                                               {kTable, Tensor::Of<std::int64_t>({2, -3}, Shape{2, 1})},
                                               {{"axis", std::int64_t{1}}}})[0]),
            (Longs{2, 3}));
  EXPECT_NE(ErrorOfOp({"GatherElements", 13, {kTable, Tensor::Of<std::int64_t>({2}, Shape{1, 1})}})
                .find("expected indices in [-2, 1] along the axis, found 2"),
            std::string::npos);
}

TEST(GatherNdOp, PicksSlicesWithBatches) {
  EXPECT_EQ(Elements<std::int64_t>(
                EvaluateOp({"GatherND", 13, {kTable, Tensor::Of<std::int64_t>({1, 0, 0, -1}, Shape{2, 2})}})[0]),
            (Longs{3, 2}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"GatherND",
                                               13,
                                               {kTable, Tensor::Of<std::int64_t>({2, 1}, Shape{2, 1})},
                                               {{"batch_dims", std::int64_t{1}}}})[0]),
            (Longs{2, 4}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"GatherND",
                                               13,
                                               {kTable, Tensor::Of<std::int64_t>({2, 0, 1, 1}, Shape{2, 2, 1})},
                                               {{"batch_dims", std::int64_t{1}}}})[0]),
            (Longs{2, 0, 4, 4}));
  EXPECT_NE(ErrorOfOp({"GatherND", 13, {kTable, Tensor::Of<std::int64_t>({0, 0, 0}, Shape{1, 3})}}).find("at most 2"),
            std::string::npos);
}

}  // namespace
}  // namespace sardonyx::testing
