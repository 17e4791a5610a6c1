// ops/tensor/selection_test.cpp - Compress, NonZero, OneHot, Range, ReverseSequence, Trilu and Unique.
#include <gtest/gtest.h>

#include <cmath>

#include "ir/text.h"
#include "ops/infer.h"
#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Reals = std::vector<float>;
using Longs = std::vector<std::int64_t>;
using Words = std::vector<std::string>;
using Text = std::string;

const Tensor kTable = Tensor::Of<std::int64_t>({0, 1, 2, 3, 4, 5}, Shape{2, 3});

TEST(SelectOps, NonZeroAndCompress) {
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"NonZero", 13, {kTable}})[0]), (Longs{0, 0, 1, 1, 1, 1, 2, 0, 1, 2}));
  for (const int version : {9, 13}) {
    EXPECT_EQ(EvaluateOp({"NonZero", version, {Tensor::Scalar(-0.0f)}})[0].tensor().shape(), (Shape{0, 0}));
    EXPECT_EQ(EvaluateOp({"NonZero", version, {Tensor::Scalar(2.0f)}})[0].tensor().shape(), (Shape{0, 1}));
  }
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"NonZero", 13, {Floats({0, -0.0f, NAN, 1, 0})}})[0]), (Longs{2, 3}));
  const Tensor keep = Tensor::Of<bool>({false, true}, Shape{2});
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"NonZero", 13, {keep}})[0]), (Longs{1}));
  EXPECT_TRUE(Elements<std::int64_t>(EvaluateOp({"NonZero", 13, {Tensor(DType::kBool, Shape{0})}})[0]).empty());
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Compress", 11, {kTable, keep}, {{"axis", std::int64_t{1}}}})[0]),
            (Longs{1, 4}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Compress", 11, {kTable, keep}})[0]), (Longs{1}));
  EXPECT_TRUE(Elements<std::int64_t>(EvaluateOp({"Compress", 11, {Ints({1}), keep}})[0]).empty());
}

TEST(SelectOps, RangeCountsInBothDirections) {
  const auto range = [](auto start, auto limit, auto delta) {
    return EvaluateOp({"Range", 11, {Tensor::Scalar(start), Tensor::Scalar(limit), Tensor::Scalar(delta)}})[0];
  };
  EXPECT_EQ(Elements<std::int64_t>(range(std::int64_t{10}, std::int64_t{4}, std::int64_t{-3})), (Longs{10, 7}));
  EXPECT_EQ(Elements<float>(range(1.0f, 2.0f, 0.25f)), (Reals{1, 1.25, 1.5, 1.75}));
  EXPECT_EQ(range(5.0f, 2.0f, 1.0f).tensor().count(), 0);
  EXPECT_NE(
      ErrorOfOp({"Range",
                 11,
                 {Tensor::Scalar<std::int64_t>(0), Tensor::Scalar<std::int64_t>(1), Tensor::Scalar<std::int64_t>(0)}})
          .find("delta other than 0"),
      Text::npos);
  EXPECT_NE(ErrorOfOp({"Range", 11, {Tensor::Scalar(0.0f), Tensor::Scalar(1.0f), Tensor::Scalar(0.0f)}})
                .find("expected a range with a finite number"),
            Text::npos);
}

// Decoders count their new positions from the length of the cache.
TEST(SelectOps, RangeBetweenSizesHasTheirDifferenceAsItsLength) {
  const auto length = [](const Text& start, const Text& limit) {
    const ops::Registry registry;
    Model model;
    model.graph = ParseGraph(
        "g (float[b,s] x, float[b,p] past) => (int64[n] y) <int64 zero = {0}, int64 one = {1}, int64 three = {3}> {\n"
        "sx = Shape<start = 1>(x) s = Squeeze(sx) sp = Shape<start = 1>(past) p = Squeeze(sp) all = Add(p, s)\n"
        "y = Range(" +
        start + ", " + limit + ", one) }");
    ops::ResolveVersions(model.graph, registry, model);
    model.graph.value(model.graph.outputs[0]).type = Type();
    ops::Infer(model.graph, registry);
    return model.graph.value(model.graph.outputs[0]).type.ToText();
  };
  EXPECT_EQ(length("p", "all"), "int64[s]");
  EXPECT_EQ(length("zero", "all"), R"(int64["p + s"])");
  EXPECT_EQ(length("all", "p"), R"t(int64["max(-s, 0)"])t");  // never negative
  EXPECT_EQ(length("three", "s"), R"t(int64["max(0, s - 3)"])t");
  EXPECT_EQ(length("s", "s"), "int64[0]");
}

TEST(SelectOps, OneHotIgnoresIndicesOutOfRange) {
  EXPECT_EQ(Elements<float>(
                EvaluateOp({"OneHot", 11, {Ints({1, -1, 7}), Tensor::Scalar<std::int64_t>(2), Floats({0, 9})}})[0]),
            (Reals{0, 9, 0, 9, 0, 0}));
  EXPECT_NE(ErrorOfOp({"OneHot", 11, {Ints({1}), Tensor::Scalar<std::int64_t>(2), Floats({0})}}).find("two values"),
            Text::npos);
}

TEST(SelectOps, TriluAndReverseSequence) {
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Trilu", 14, {kTable, Tensor::Scalar<std::int64_t>(1)}})[0]),
            (Longs{0, 1, 2, 0, 0, 5}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Trilu", 14, {kTable}, {{"upper", std::int64_t{0}}}})[0]),
            (Longs{0, 0, 0, 3, 4, 0}));
  EXPECT_NE(ErrorOfOp({"Trilu", 14, {Ints({1})}}).find("rank 2"), Text::npos);
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"ReverseSequence",
                                               10,
                                               {kTable, Ints({2, 3})},
                                               {{"batch_axis", std::int64_t{0}}, {"time_axis", std::int64_t{1}}}})[0]),
            (Longs{1, 0, 2, 5, 4, 3}));
  EXPECT_NE(ErrorOfOp({"ReverseSequence", 10, {kTable, Ints({2, 3, 3})}}).find("found 3 for batch 1"), Text::npos);
}

TEST(UniqueOp, SortsOrKeepsTheOrder) {
  const Tensor x = Floats({2, 1, 2, NAN, NAN});
  const auto sorted = EvaluateOp({"Unique", 11, {x}, {}, 4});
  EXPECT_EQ(sorted[0].tensor().count(), 3);
  EXPECT_EQ(Elements<std::int64_t>(sorted[1]), (Longs{1, 0, 3}));
  EXPECT_EQ(Elements<std::int64_t>(sorted[2]), (Longs{1, 0, 1, 2, 2}));
  EXPECT_EQ(Elements<std::int64_t>(sorted[3]), (Longs{1, 2, 2}));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"Unique", 11, {x}, {{"sorted", std::int64_t{0}}}, 2})[1]),
            (Longs{0, 1, 3}));
  EXPECT_NE(ErrorOfOp({"Unique", 11, {x}, {{"axis", std::int64_t{2}}}}).find("axis"), Text::npos);
}

}  // namespace
}  // namespace sardonyx::testing
