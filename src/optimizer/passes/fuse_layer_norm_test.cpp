// optimizer/passes/fuse_layer_norm_test.cpp - LayerNormalization from its parts, and what is none.
#include "optimizer/passes.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;

std::string Parts(std::string_view axis) {
  return R"(norm (float[2,2] x) => (float[2,2] y)
<float[2] scale = {2, 3}, float[2] bias = {0.5, -1}, float eps = {1e-5}, float two = {2}, int64[1] axes = {)" +
         std::string(axis) + R"(}> {
  m = ReduceMean<keepdims = 1>(x, axes)
  d = Sub(x, m)
  s = Pow(d, two)
  v = ReduceMean<keepdims = 1>(s, axes)
  e = Add(v, eps)
  r = Sqrt(e)
  q = Div(d, r)
  w = Mul(q, scale)
  y = Add(w, bias)
})";
}

TEST(FuseLayerNorm, OverTheLastAxis) {
  const ops::Registry registry;
  for (const char* axis : {"-1", "1"}) {
    Graph graph = PreparedGraph(Parts(axis), registry);
    const Graph before = graph;
    EXPECT_EQ(ApplyRules(kFuseLayerNorm.rules, graph, registry), 1) << axis;
    PassContext context{registry};
    kEliminateDeadNodes.run(graph, context);  // as the pipeline does after the fusions
    ASSERT_EQ(graph.order.size(), 1u) << ToText(graph);
    EXPECT_NE(ToText(graph).find("y = LayerNormalization <"), std::string::npos) << ToText(graph);
    EXPECT_NE(ToText(graph).find("axis = -1"), std::string::npos) << ToText(graph);
    ExpectSameValues(graph, before, registry, {Tensor::Of<float>({1, 2, -3, 5}, Shape{2, 2})});
  }
}

TEST(FuseLayerNorm, LeavesAMeanOverTheFirstAxisAlone) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(Parts("0"), registry);
  const std::string before = ToText(graph);
  EXPECT_EQ(ApplyRules(kFuseLayerNorm.rules, graph, registry), 0);
  EXPECT_EQ(ToText(graph), before);
}

}  // namespace
}  // namespace sardonyx::optimizer
