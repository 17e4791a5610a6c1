// optimizer/passes/fold_constants_test.cpp - what depends on constants only is computed; the rest, and what is random,
// stays.
#include "optimizer/passes.h"
#include "testing/evaluate_op.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::Floats;
using ::sardonyx::testing::PreparedGraph;

bool RunPass(Graph& graph, const ops::Registry& registry) {
  PassContext context{registry};
  return kFoldConstants.run(graph, context);
}

TEST(FoldConstants, ComputesAChain) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {3, 5}> {
  s = Add(a, b)
  n = Neg(s)
  y = Mul(x, n)
})",
                              registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  ASSERT_EQ(graph.order.size(), 1u) << ToText(graph);
  const Tensor* folded = graph.value(graph.node(graph.order[0]).inputs[1]).constant();
  ASSERT_NE(folded, nullptr);
  EXPECT_EQ(::sardonyx::testing::Elements<float>(*folded), (std::vector<float>{-4, -7}));
  ExpectSameValues(graph, before, registry, {Floats({1, 2})});
}

TEST(FoldConstants, ComputesFromKnownShapes) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (float[2,3] x, float[6] z) => (float[2,3] y) {
  s = Shape(x)
  y = Reshape(z, s)
})",
                              registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  EXPECT_EQ(graph.order.size(), 1u) << ToText(graph);
  const Tensor x = Tensor::Of<float>({0, 0, 0, 0, 0, 0}, Shape{2, 3});
  ExpectSameValues(graph, before, registry, {x, Floats({1, 2, 3, 4, 5, 6})});
}

TEST(FoldConstants, LeavesUnknownShapesAndRandomNumbersAlone) {
  const ops::Registry registry;
  for (const char* text : {"g (float[N] x) => (int64[1] y) { s = Shape(x) y = Neg(s) }",
                           "g (float[2] x) => (float[2] y) { r = RandomNormal<shape = [2]>() y = Add(x, r) }"}) {
    Graph graph = PreparedGraph(text, registry);
    const std::string before = ToText(graph);
    EXPECT_FALSE(RunPass(graph, registry)) << text;
    EXPECT_EQ(ToText(graph), before);
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
