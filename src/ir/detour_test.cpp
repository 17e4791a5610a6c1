// ir/detour_test.cpp - tests of FindDetour.
#include "ir/detour.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace sardonyx {
namespace {

TEST(FindDetour, NamesThePathThatLeavesTheGroupAndComesBack) {
  const Graph graph = ParseGraph(R"(
g (float[4] x, bool c) => (float[4] y, float[4] z) {
  a = Relu(x)
  b = Tanh(a)
  d = Neg(b)
  y = Add(a, d)
  z = If(c) <then_branch = yes () => (p) { p = Add(d, y) }, else_branch = no () => (q) { q = Neg(a) }>
})");
  const std::optional<Detour> detour = FindDetour(graph, {0, 3});
  ASSERT_TRUE(detour);
  EXPECT_EQ(detour->left_at, 1u);
  EXPECT_EQ(detour->entered_at, 3u);
  EXPECT_TRUE(FindDetour(graph, {2, 4}));  // by what a body captures
  EXPECT_FALSE(FindDetour(graph, {0, 1, 2, 3}));
  EXPECT_FALSE(FindDetour(graph, {0}));
  EXPECT_FALSE(FindDetour(graph, {}));
}

}  // namespace
}  // namespace sardonyx
