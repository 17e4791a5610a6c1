// optimizer/shapes/selection_test.cpp - parts of an axis, also for numbers far beyond it.
#include "optimizer/shapes/selection.h"

#include <gtest/gtest.h>

#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

// Of the first node of a graph that takes a part of x [4, 2].
std::optional<Selection> Selected(const std::string& node, const std::string& constants) {
  const ops::Registry registry;
  const Graph graph = testing::PreparedGraph("g (float[4,2] x) => (y) <" + constants + "> { " + node + " }", registry);
  return SelectionOf(graph, graph.node(graph.order[0]), 0);
}

TEST(Selection, OfNumbersInside) {
  const auto gathered = Selected("y = Gather(x, i)", "int64 i = {-1}");
  ASSERT_TRUE(gathered);
  EXPECT_EQ(gathered->begin, 3);
  EXPECT_EQ(gathered->count, 1);
  const auto split = Selected("y, z = Split(x, s)", "int64[2] s = {1, 3}");
  ASSERT_TRUE(split);
  EXPECT_EQ(split->count, 1);
}

TEST(Selection, NotOfNumbersBeyondTheAxis) {
  for (const char* index : {"4", "9223372036854775807", "-5", "-9223372036854775807"})
    EXPECT_FALSE(Selected("y = Gather(x, i)", std::string("int64 i = {") + index + "}")) << index;
}

}  // namespace
}  // namespace sardonyx::optimizer
