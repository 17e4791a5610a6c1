// optimizer/passes/eliminate_common_subexpressions_test.cpp - equal nodes become one; what only looks equal stays.
#include "optimizer/passes.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;

std::size_t NodesLeft(const std::string& body, const std::string& outputs = "float[2] y") {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (float[2] x, float[2] z) => (" + outputs + ") <float a = {2}, float b = {2}> {" + body + "}", registry);
  const Graph before = graph;
  PassContext context{registry};
  kEliminateCommonSubexpressions.run(graph, context);
  ExpectSameValues(graph, before, registry, {Tensor::Of<float>({1, 2}, Shape{2}), Tensor::Of<float>({3, 5}, Shape{2})});
  return graph.order.size();
}

TEST(EliminateCommonSubexpressions, JoinsChains) {
  EXPECT_EQ(NodesLeft("p = Relu(x) q = Relu(x) r = Neg(p) s = Neg(q) y = Add(r, s)"), 3u);
}
TEST(EliminateCommonSubexpressions, SeesEqualConstantsAndSwappedOperands) {
  EXPECT_EQ(NodesLeft("p = Mul(x, a) q = Mul(b, x) y = Add(p, q)"), 2u);
}
TEST(EliminateCommonSubexpressions, KeepsOrderAttributesAndOutputsApart) {
  EXPECT_EQ(NodesLeft("p = Sub(x, z) q = Sub(z, x) y = Mul(p, q)"), 3u);
  EXPECT_EQ(NodesLeft("p = Elu<alpha = 0.5>(x) q = Elu<alpha = 0.25>(x) y = Mul(p, q)"), 3u);
  EXPECT_EQ(NodesLeft("y = Relu(x) w = Relu(x)", "float[2] y, float[2] w"), 2u);
}
TEST(EliminateCommonSubexpressions, LeavesRandomNumbersAlone) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (float[2] x) => (float[2] y) { p = RandomNormalLike(x) q = RandomNormalLike(x) y = Sub(p, q) }", registry);
  PassContext context{registry};
  kEliminateCommonSubexpressions.run(graph, context);
  EXPECT_EQ(graph.order.size(), 3u);
}

}  // namespace
}  // namespace sardonyx::optimizer
