// optimizer/passes/eliminate/eliminate_identity_test.cpp - nodes that pass their input on are removed; names that the
// user knows stay.
#include "optimizer/passes/passes.h"
#include "testing/evaluate_op.h"
#include "testing/pass_test.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::Floats;
using ::sardonyx::testing::PreparedGraph;

bool RunPass(Graph& graph, const ops::Registry& registry) {
  PassContext context{registry};
  const bool dropped = RunVerified(kEliminateDropout, graph, context);
  return RunVerified(kEliminateIdentity, graph, context) || dropped;
}

TEST(EliminateIdentity, TakesOutWhatHandsOnItsInput) {
  const ops::Registry registry;
  for (const char* node : {"Identity(a)", "Dropout(a)", "Sum(a)", "Concat<axis = 0>(a)"}) {
    Graph graph = PreparedGraph(
        "g (float[2] x) => (float[2] y) { a = Abs(x) b = " + std::string(node) + " y = Neg(b) }", registry);
    const Graph before = graph;
    EXPECT_TRUE(RunPass(graph, registry)) << node;
    EXPECT_EQ(ToText(graph), "g (float[2] x) => (float[2] y) {\n  a = Abs(x)\n  y = Neg(a)\n}\n");
    ExpectSameValues(graph, before, registry, {Floats({-1, 2})});
  }
}

TEST(EliminateIdentity, TheProducerTakesTheOutputsName) {
  const ops::Registry registry;
  Graph graph = PreparedGraph("g (float[2] x) => (float[2] y) { a = Abs(x) y = Identity(a) }", registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  EXPECT_EQ(ToText(graph), "g (float[2] x) => (float[2] y) {\n  y = Abs(x)\n}\n");
  ExpectSameValues(graph, before, registry, {Floats({-1, 2})});
}

TEST(EliminateIdentity, LeavesOtherCastsAndNamedEndsAlone) {
  const ops::Registry registry;
  for (const char* text : {"g (float[2] x) => (float[2] y) { y = Identity(x) }",
                           "g (float[2] x) => (double[2] y) { a = Cast<to = 11>(x) y = Neg(a) }",
                           "g (float[2] x) => (float[2] a, float[2] y) { a = Abs(x) y = Identity(a) }"}) {
    Graph graph = PreparedGraph(text, registry);
    const std::string before = ToText(graph);
    EXPECT_FALSE(RunPass(graph, registry)) << text;
    EXPECT_EQ(ToText(graph), before);
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
