// tests/fuzz/noisy_run_test.cpp - what noise keeps, and what it shows where an operator leaves an element undecided.
#include "fuzz/noisy_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "ir/text.h"
#include "ops/infer.h"
#include "testing/evaluate_op.h"

namespace sardonyx::fuzz {
namespace {

using testing::Elements;
using testing::Floats;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

RandomGraph Made(std::string_view text, const std::vector<Value>& inputs, const ops::Registry& registry) {
  RandomGraph made;
  made.model = std::make_shared<Model>();
  Graph& graph = made.model->graph;
  graph = ParseGraph(text);
  ops::ResolveVersions(graph, registry, *made.model);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    made.inputs.emplace_back(graph.value(graph.inputs[i]).name, inputs[i]);
  return made;
}

// What becomes of the first output's first element: "number", "0", "-0", "inf", "-inf", "nan".
std::set<std::string> Kinds(std::string_view text, const std::vector<Value>& inputs) {
  const ops::Registry registry;
  const RandomGraph made = Made(text, inputs, registry);
  std::set<std::string> kinds;
  for (unsigned seed = 1; seed <= 400; ++seed) {
    const Tensor tensor = RunWithNoise(made, registry, seed)[0].tensor();
    const float x = tensor.dtype() == DType::kFloat ? tensor.span<float>()[0] : float(tensor.span<Half>()[0]);
    const std::string sign = std::signbit(x) && !std::isnan(x) ? "-" : "";
    kinds.insert(std::isnan(x) ? "nan" : std::isinf(x) ? sign + "inf" : x == 0 ? sign + "0" : "number");
  }
  return kinds;
}
using Set = std::set<std::string>;

TEST(NoisyRun, NoiseMovesNumbersByARounding) {
  std::mt19937 random(1);
  std::set<float> moved;
  for (const float x : Elements<float>(Disturbed(Floats({1, 1, 1, 1, 1, 1, 1, 1}), random))) {
    EXPECT_NEAR(x, 1, 2e-6);
    moved.insert(x);
  }
  EXPECT_GT(moved.size(), 2U);
  const Tensor halves = Disturbed(Tensor::Of<Half>({Half(1), Half(-2)}, Shape{2}), random);
  EXPECT_NEAR(float(halves.span<Half>()[0]), 1, 2e-3);
  EXPECT_NEAR(float(halves.span<Half>()[1]), -2, 4e-3);
  EXPECT_EQ(Elements<std::int64_t>(Disturbed(testing::Ints({3}), random)), (std::vector<std::int64_t>{3}));
}

TEST(NoisyRun, NoiseKeepsNaNInfinitiesZerosAndSigns) {
  constexpr float kLargest = std::numeric_limits<float>::max(), kTiny = 1e-44F;
  std::mt19937 random(1);
  for (int turn = 0; turn < 100; ++turn) {
    const auto x = Elements<float>(Disturbed(
        Floats({kNaN, kInfinity, -kInfinity, 0.0F, -0.0F, kLargest, -kLargest, kTiny, -kTiny, 1, -1}), random));
    EXPECT_TRUE(std::isnan(x[0]));
    EXPECT_EQ(x[1], kInfinity);
    EXPECT_EQ(x[2], -kInfinity);
    EXPECT_TRUE(x[3] == 0 && !std::signbit(x[3]));
    EXPECT_TRUE(x[4] == 0 && std::signbit(x[4]));
    for (const std::size_t i : {5U, 7U, 9U}) EXPECT_TRUE(std::isfinite(x[i]) && x[i] > 0) << x[i];
    for (const std::size_t i : {6U, 8U, 10U}) EXPECT_TRUE(std::isfinite(x[i]) && x[i] < 0) << x[i];
    const Tensor halves = Disturbed(Tensor::Of<Half>({Half(65504.0F), Half(-1e-7F)}, Shape{2}), random);
    EXPECT_TRUE(std::isfinite(float(halves.span<Half>()[0])));
    EXPECT_LT(float(halves.span<Half>()[1]), 0);
  }
}

TEST(NoisyRun, WhatIsNoExceptionIsDecided) {
  EXPECT_EQ(Kinds("g (float[2] x) => (float[2] y) { a = Relu(x) y = Reciprocal(a) }", {Floats({-1, 2})}), Set{"inf"});
  EXPECT_EQ(Kinds("g (float[2] x) => (float[2] y) { a = Neg(x) y = Log(a) }", {Floats({1, 2})}), Set{"nan"});
  EXPECT_EQ(Kinds("g (float[2] x) => (float[2] y) { y = Exp(x) }", {Floats({1000, 2})}), Set{"inf"});
  EXPECT_EQ(Kinds("g (float[2] x) => (float[2] y) { a = Add(x, x) y = Reciprocal(a) }", {Floats({-0.0F, 2})}),
            Set{"-inf"});
  EXPECT_EQ(Kinds("g (float[1, 2] x, float[2, 1] z) => (float[1, 1] y) { y = MatMul(x, z) }",
                  {Tensor::Of<float>({kInfinity, 1}, Shape{1, 2}), Tensor::Of<float>({2, 1}, Shape{2, 1})}),
            Set{"inf"});
}

TEST(NoisyRun, ASumOfZerosHasEitherSign) {
  const std::vector<Value> inputs = {Tensor::Of<float>({-0.0F, 0}, Shape{1, 2}),
                                     Tensor::Of<float>({2, 1}, Shape{2, 1})};
  EXPECT_EQ(Kinds("g (float[1, 2] x, float[2, 1] z) => (float[1, 1] y) { y = MatMul(x, z) }", inputs),
            (Set{"-0", "0"}));
  EXPECT_EQ(Kinds("g (float[1, 2] x, float[2, 1] z) => (float[1, 1] y) { a = MatMul(x, z) y = Reciprocal(a) }", inputs),
            (Set{"-inf", "inf"}));
}

TEST(NoisyRun, WhereTermsOverflowTheSumIsOpen) {
  const Set all = {"number", "nan", "inf", "-inf"};
  constexpr std::string_view kProduct = "g (float[1, 3] x, float[3, 1] z) => (float[1, 1] y) { y = MatMul(x, z) }";
  const auto kinds = [&](float a, float b, float c) {
    return Kinds(kProduct, {Tensor::Of<float>({a, b, c}, Shape{1, 3}), Tensor::Of<float>({1, 1, 1}, Shape{3, 1})});
  };
  EXPECT_EQ(kinds(3e38F, -3e38F, 1), all);
  EXPECT_EQ(kinds(3e38F, 3e38F, 1), all);
  EXPECT_EQ(kinds(1e38F, 1e38F, 1), Set{"number"});
  EXPECT_EQ(Kinds("g (float[2] x) => (float[1] y) { y = ReduceProd(x) }", {Floats({1e30F, 1e30F})}), all);
}

TEST(NoisyRun, WhatOverflowsInFloat16OrAsASquareMayBeANumber) {
  const Set open = {"number", "inf"};
  constexpr std::string_view kHalf =
      "g (float[1] x, float[1] z) => (float[1] y) { h = Cast<to = 10>(x) g1 = Cast<to = 10>(z) p = Mul(h, g1) "
      "y = Cast<to = 1>(p) }";
  EXPECT_EQ(Kinds(kHalf, {Floats({1000}), Floats({1000})}), open);
  EXPECT_EQ(Kinds(kHalf, {Floats({1e6F}), Floats({1})}), open);
  EXPECT_EQ(Kinds(kHalf, {Floats({kInfinity}), Floats({1})}), Set{"inf"});
  EXPECT_EQ(Kinds("g (float[1] x) => (float[1] y) { y = Mul(x, x) }", {Floats({1e30F})}), open);
  EXPECT_EQ(Kinds("g (float[1] x) => (float[1] y) { y = Mul(x, x) }", {Floats({kInfinity})}), Set{"inf"});
  EXPECT_EQ(Kinds("g (float[1] x, float[1] z) => (float[1] y) { y = Mul(x, z) }", {Floats({1e30F}), Floats({1e30F})}),
            Set{"inf"});
}

TEST(NoisyRun, EqualDecidesEitherWayBetweenCloseNumbersOnly) {
  constexpr std::string_view kText =
      "g (float[2] x, float[2] z, float[2] t) => (float[2] y) { e = Equal(x, z) y = Where(e, t, z) }";
  const Value infinities = Floats({kInfinity, kInfinity});
  EXPECT_EQ(Kinds(kText, {Floats({2, 2}), Floats({2, 1}), infinities}), (Set{"number", "inf"}));
  EXPECT_EQ(Kinds(kText, {Floats({2, 2}), Floats({1, 2}), infinities}), Set{"number"});
}

}  // namespace
}  // namespace sardonyx::fuzz
