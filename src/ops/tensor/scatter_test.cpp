// ops/tensor/scatter_test.cpp - ScatterElements, ScatterND, TensorScatter, Pad.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Longs = std::vector<std::int64_t>;
using Reals = std::vector<float>;

TEST(ScatterElementsOp, WritesAndReduces) {
  const Tensor x = Tensor::Of<float>({1, 2, 3, 4, 5, 6}, Shape{2, 3});
  const Tensor at = Tensor::Of<std::int64_t>({1, -1}, Shape{1, 2});
  const Tensor u = Tensor::Of<float>({10, 20}, Shape{1, 2});
  EXPECT_EQ(Elements<float>(EvaluateOp({"ScatterElements", 18, {x, at, u}})[0]), (Reals{1, 2, 3, 10, 20, 6}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"Scatter", 9, {x, at, u}, {{"axis", std::int64_t{1}}}})[0]),
            (Reals{1, 10, 20, 4, 5, 6}));
  const Tensor same = Tensor::Of<std::int64_t>({0, 0}, Shape{1, 2});
  EXPECT_EQ(
      Elements<float>(EvaluateOp(
          {"ScatterElements", 18, {x, same, u}, {{"axis", std::int64_t{1}}, {"reduction", std::string("add")}}})[0])[0],
      31);
  EXPECT_NE(ErrorOfOp({"ScatterElements", 18, {x, Tensor::Of<std::int64_t>({2, 0}, Shape{1, 2}), u}}).find("found 2"),
            std::string::npos);
  EXPECT_NE(ErrorOfOp({"ScatterElements", 18, {x, at, u}, {{"reduction", std::string("mean")}}}).find("found 'mean'"),
            std::string::npos);
}

// Every axis against plain loops, for a type that is copied and one that is combined element by element.
TEST(ScatterElementsOp, WritesAlongEveryAxis) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Shape data{3, 4, 5}, taken{2, 3, 4};
    Tensor x(DType::kFloat, data), at(DType::kInt64, taken), u(DType::kFloat, taken), x64(DType::kInt64, data),
        u64(DType::kInt64, taken);
    for (std::int64_t i = 0; i < x.count(); ++i)
      x.data<float>()[i] = static_cast<float>(x64.data<std::int64_t>()[i] = i);
    for (std::int64_t i = 0; i < at.count(); ++i) {
      at.data<std::int64_t>()[i] = i * 7 % data[axis] - (i % 2) * data[axis];
      u.data<float>()[i] = static_cast<float>(u64.data<std::int64_t>()[i] = 100 + i);
    }
    Reals want = Elements<float>(x);
    for (std::int64_t i = 0; i < at.count(); ++i) {
      std::int64_t place[] = {i / 12, i / 4 % 3, i % 4};
      place[axis] = (at.data<std::int64_t>()[i] + data[axis]) % data[axis];
      want[static_cast<std::size_t>((place[0] * 4 + place[1]) * 5 + place[2])] = u.data<float>()[i];
    }
    const std::vector<Attribute> attributes = {{"axis", static_cast<std::int64_t>(axis)}};
    EXPECT_EQ(Elements<float>(EvaluateOp({"ScatterElements", 18, {x, at, u}, attributes})[0]), want) << axis;
    const auto longs = Elements<std::int64_t>(EvaluateOp({"ScatterElements", 18, {x64, at, u64}, attributes})[0]);
    EXPECT_EQ(Reals(longs.begin(), longs.end()), want) << axis;
  }
}

TEST(ScatterElementsOp, MaxKeepsNanAndIntegersWrap) {
  const Tensor x = Floats({1, NAN});
  const Tensor y = Floats({NAN, 3});
  const auto out = Elements<float>(
      EvaluateOp({"ScatterElements", 18, {x, Ints({0, 1}), y}, {{"reduction", std::string("max")}}})[0]);
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
  EXPECT_EQ(Elements<std::int64_t>(EvaluateOp({"ScatterElements",
                                               18,
                                               {Ints({INT64_MAX}), Ints({0}), Ints({1})},
                                               {{"reduction", std::string("add")}}})[0])[0],
            INT64_MIN);
}

TEST(ScatterElementsOp, AddsTextsAndComplexNumbers) {
  const auto scattered = [](Tensor x, Tensor u, const char* reduction) {
    return EvaluateOp({"ScatterElements", 18, {x, Ints({0, 0}), u}, {{"reduction", std::string(reduction)}}})[0];
  };
  using Complex = std::complex<float>;
  const Tensor words = Tensor::Of<std::string>({"a", "b"}, Shape{2}),
               more = Tensor::Of<std::string>({"X", "Y"}, Shape{2});
  EXPECT_EQ(Elements<std::string>(scattered(words, more, "add")), (std::vector<std::string>{"aXY", "b"}));
  const Tensor x = Tensor::Of<Complex>({{1, 2}, {3, 0}}, Shape{2}), u = Tensor::Of<Complex>({{0, 1}, {2, 0}}, Shape{2});
  EXPECT_EQ(Elements<Complex>(scattered(x, u, "add")), (std::vector<Complex>{{3, 3}, {3, 0}}));
  EXPECT_EQ(Elements<Complex>(scattered(x, u, "mul")), (std::vector<Complex>{{-4, 2}, {3, 0}}));
  for (const char* reduction : {"mul", "min"}) {
    const std::vector<Attribute> attributes = {{"reduction", std::string(reduction)}};
    EXPECT_NE(ErrorOfOp({"ScatterElements", 18, {words, Ints({0, 0}), more}, attributes}).find("data of type string"),
              std::string::npos);
  }
}

TEST(ScatterNdOp, WritesSlices) {
  const Tensor x = Tensor::Of<std::string>({"a", "b", "c", "d"}, Shape{2, 2});
  const Tensor u = Tensor::Of<std::string>({"X", "Y"}, Shape{1, 2});
  EXPECT_EQ(
      Elements<std::string>(EvaluateOp({"ScatterND", 18, {x, Tensor::Of<std::int64_t>({-1}, Shape{1, 1}), u}})[0]),
      (std::vector<std::string>{"a", "b", "X", "Y"}));
  EXPECT_NE(ErrorOfOp({"ScatterND", 18, {x, Tensor::Of<std::int64_t>({0}, Shape{1, 1}), x}})
                .find("expected updates of shape [1, 2]"),
            std::string::npos);
}

TEST(TensorScatterOp, WrapsAroundWhenCircular) {
  const Tensor cache = Tensor::Of<float>({1, 2, 3, 4}, Shape{1, 4, 1});
  const Tensor update = Tensor::Of<float>({8, 9}, Shape{1, 2, 1});
  EXPECT_EQ(Elements<float>(
                EvaluateOp({"TensorScatter", 24, {cache, update, Ints({3})}, {{"mode", std::string("circular")}}})[0]),
            (Reals{9, 2, 3, 8}));
  EXPECT_NE(ErrorOfOp({"TensorScatter", 24, {cache, update, Ints({3})}}).find("found 3 for batch 0"),
            std::string::npos);
}

TEST(PadOp, FollowsEachMode) {
  const Tensor x = Floats({1, 2, 3});
  const auto pad = [&](const char* mode, Tensor pads) {
    return Elements<float>(EvaluateOp({"Pad", 19, {x, pads}, {{"mode", std::string(mode)}}})[0]);
  };
  EXPECT_EQ(pad("constant", Ints({1, 2})), (Reals{0, 1, 2, 3, 0, 0}));
  EXPECT_EQ(pad("edge", Ints({2, 1})), (Reals{1, 1, 1, 2, 3, 3}));
  EXPECT_EQ(pad("reflect", Ints({2, 2})), (Reals{3, 2, 1, 2, 3, 2, 1}));
  EXPECT_NE(ErrorOfOp({"Pad", 19, {x, Ints({2, 3})}, {{"mode", std::string("reflect")}}}).find("found 2 and 3"),
            std::string::npos);
  EXPECT_EQ(pad("wrap", Ints({1, 4})), (Reals{3, 1, 2, 3, 1, 2, 3, 1}));
  EXPECT_EQ(pad("constant", Ints({-1, 1})), (Reals{2, 3, 0}));
  EXPECT_EQ(pad("edge", Ints({-1, 1})), (Reals{2, 3, 3}));
  EXPECT_NE(ErrorOfOp({"Pad", 19, {x, Ints({-2, -2})}}).find("do not fit dimension 0"), std::string::npos);
  EXPECT_NE(ErrorOfOp({"Pad", 19, {Floats({}), Ints({1, 0})}, {{"mode", std::string("edge")}}}).find("is empty"),
            std::string::npos);
}

// What is left of an axis that only loses its end is no whole row.
TEST(PadOp, CutsTheEndOfAnyAxis) {
  const Tensor x = Tensor::Of<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, Shape{3, 2, 2});
  const auto pad = [&](const Longs& pads) {
    return Elements<float>(EvaluateOp({"Pad", 19, {x, Tensor::Vector<std::int64_t>(pads)}})[0]);
  };
  EXPECT_EQ(pad({0, 0, 0, 0, -1, 0}), (std::vector<float>{0, 1, 4, 5, 8, 9}));
  EXPECT_EQ(pad({0, 0, 0, 0, 0, -1}), (std::vector<float>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(pad({-1, 0, 0, 0, -1, 0}), (std::vector<float>{4, 5, 8, 9}));
  EXPECT_EQ(pad({0, 0, 0, -2, 0, 0}), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(pad({1, 0, 0, -2, 0, -1}), (std::vector<float>{0, 0, 0, 2}));
}

TEST(PadOp, TakesAxesAndOldSpellings) {
  const Tensor x = Tensor::Of<std::int32_t>({1, 2, 3, 4}, Shape{2, 2});
  EXPECT_EQ(Elements<std::int32_t>(
                EvaluateOp({"Pad", 18, {x, Ints({1, 0}), Tensor::Scalar<std::int32_t>(7), Ints({-1})}})[0]),
            (std::vector<std::int32_t>{7, 1, 2, 7, 3, 4}));
  EXPECT_EQ(Elements<float>(EvaluateOp({"Pad", 2, {Floats({1})}, {{"pads", Longs{0, 1}}, {"value", 5.0f}}})[0]),
            (Reals{1, 5}));
}

}  // namespace
}  // namespace sardonyx::testing
