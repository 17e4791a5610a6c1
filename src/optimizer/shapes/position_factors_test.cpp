// optimizer/shapes/position_factors_test.cpp - integers that count their places, and some that do not.
#include "optimizer/shapes/position_factors.h"

#include <gtest/gtest.h>

#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

// Of y: the factors, joined by spaces; "none" if it counts nothing.
std::string Factors(const std::string& nodes, const std::string& constants = "int64 unused = {7}") {
  const ops::Registry registry;
  const Graph graph =
      testing::PreparedGraph("g (int64[b,s] ids, int64 given) => (y) <int64 zero = {0}, int64 one = {1}, " + constants +
                                 "> { shape = Shape(ids) s = Gather(shape, one) " + nodes + " }",
                             registry);
  const auto factors = PositionFactors(graph, graph.outputs[0]);
  if (!factors) return "none";
  std::string text;
  for (const Dim& factor : *factors) text += (text.empty() ? "" : " ") + factor.ToText();
  return text;
}

TEST(PositionFactors, OfComputedCounts) {
  EXPECT_EQ(Factors("y = Range(zero, s, one)"), "1");
  EXPECT_EQ(Factors("r = Range(zero, s, one) y = Unsqueeze(r, axes)", "int64[2] axes = {0, 2}"), "0 1 0");
  EXPECT_EQ(Factors("b = Gather(shape, zero) r = Range(zero, b, one) c = Unsqueeze(r, axis) m = Mul(c, s) "
                    "k = Range(zero, s, one) y = Add(m, k)",
                    "int64[1] axis = {1}"),
            "s 1");
  EXPECT_EQ(Factors("r = Range(zero, s, one) w = Expand(r, shape) y = Cast<to = 6>(w)"), "0 1");
}

TEST(PositionFactors, OfConstants) {
  EXPECT_EQ(Factors("y = Identity(c)", "int64[1, 4] c = {0, 1, 2, 3}"), "0 1");
  EXPECT_EQ(Factors("y = Identity(c)", "int64[2, 2] c = {0, 2, 4, 6}"), "4 2");
  EXPECT_EQ(Factors("e = Unsqueeze(s, zeros) y = Slice(c, zeros, e, ones)",
                    "int64[1, 4] c = {0, 1, 2, 3}, int64[1] zeros = {0}, int64[1] ones = {1}"),
            "0 1");
}

TEST(PositionFactors, NotOfOthers) {
  EXPECT_EQ(Factors("y = Range(one, s, one)"), "none");
  EXPECT_EQ(Factors("y = Range(zero, s, given)"), "none");
  EXPECT_EQ(Factors("y = Identity(ids)"), "none");
  EXPECT_EQ(Factors("y = Identity(c)", "int64[4] c = {0, 1, 2, 4}"), "none");
  EXPECT_EQ(Factors("y = Identity(c)", "int64[4] c = {1, 2, 3, 4}"), "none");
  EXPECT_EQ(Factors("r = Range(zero, s, one) m = Mul(r, given) y = Identity(m)"), "none");
  // A size with another name may be 1, so that every place has the number of the first.
  EXPECT_EQ(Factors("r = Range(zero, given, one) y = Expand(r, shape)"), "none");
  EXPECT_EQ(Factors("r = Range(zero, given, one) k = Range(zero, s, one) y = Add(r, k)"), "none");
  EXPECT_EQ(Factors("r = Range(zero, given, one) m = Mul(r, all) y = Identity(m)", "int64[4] all = {1, 1, 1, 1}"),
            "none");
  EXPECT_EQ(Factors("y = Identity(c)", "int64[3] c = {0, 4611686018427387904, 1}"), "none");
  EXPECT_EQ(Factors("y = Slice(c, ones, ends)", "int64[4] c = {0, 1, 2, 3}, int64[1] ones = {1}, int64[1] ends = {3}"),
            "none");
}

}  // namespace
}  // namespace sardonyx::optimizer
