// optimizer/passes/unused_constants_test.cpp - a constant is removed with its last reader, and not before.
#include "optimizer/rules/unused_constants.h"

#include <gtest/gtest.h>

#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::PreparedGraph;

const Tensor* ConstantOf(const Graph& graph, std::string_view name) {
  return graph.value(*graph.Find(name)).constant();
}

TEST(UnusedConstants, GoWithTheirLastReader) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (float[2] x, bool p) => (float[2] y, float[2] c)
<float[2] a = {1, 2}, float[2] b = {3, 5}, float[2] c = {4, 4}, float[2] d = {6, 6}, float[2] e = {7, 7}> {
  s = Add(a, b)
  t = Mul(x, s)
  u = Add(t, b)
  y = If(p) <then_branch = g1 () => (float[2] v) { v = Add(d, u) }, else_branch = g2 () => (float[2] w) { w = Neg(u) }>
})",
                              registry);
  DropUnusedConstants(graph);
  EXPECT_EQ(ConstantOf(graph, "e"), nullptr);
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_NE(ConstantOf(graph, name), nullptr) << name;
  PassContext context{registry};
  EXPECT_TRUE(RunVerified(kFoldConstants, graph, context));
  EXPECT_EQ(ConstantOf(graph, "a"), nullptr);  // folding drops what it used up
  for (const char* name : {"b", "c", "d"}) EXPECT_NE(ConstantOf(graph, name), nullptr) << name;
}

}  // namespace
}  // namespace sardonyx::optimizer
