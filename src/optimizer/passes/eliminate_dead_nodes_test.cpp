// optimizer/passes/eliminate_dead_nodes_test.cpp - a chain that nobody reads goes, in bodies too; what a body captures
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
  return kEliminateDeadNodes.run(graph, context);
}

TEST(EliminateDeadNodes, TakesOutAWholeChain) {
  const ops::Registry registry;
  Graph graph =
      PreparedGraph("g (float[2] x) => (float[2] y) { a = Abs(x) b = Neg(a) c = Exp(b) y = Neg(x) }", registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  EXPECT_EQ(ToText(graph), "g (float[2] x) => (float[2] y) {\n  y = Neg(x)\n}\n");
  ExpectSameValues(graph, before, registry, {Floats({-1, 2})});
}

TEST(EliminateDeadNodes, LeavesWhatABodyCaptures) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (bool c, float[2] x) => (float[2] y) {
  a = Abs(x)
  y = If (c) <then_branch = t () => (float[2] p) { dead = Exp(a) p = Neg(a) },
              else_branch = e () => (float[2] q) { q = Identity(x) }>
})",
                              registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry)) << "the dead node of the body";
  EXPECT_EQ(graph.order.size(), 2u) << ToText(graph);
  EXPECT_EQ(ToText(graph).find("Exp"), std::string::npos) << ToText(graph);
  ExpectSameValues(graph, before, registry, {Tensor::Of<bool>({true}, Shape{}), Floats({-1, 2})});
  EXPECT_FALSE(RunPass(graph, registry));
}

}  // namespace
}  // namespace sardonyx::optimizer
