// optimizer/passes/fuse/fuse_matmul_transpose_test.cpp - transpositions and constant factors become attributes of
// FusedMatMul.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;

bool RunPass(Graph& graph, const ops::Registry& registry) {
  PassContext context{registry};
  return RunVerified(kFuseMatMulTranspose, graph, context);
}

std::string Scores(std::string_view body, std::string_view outputs = "float[2,2,2] y") {
  return "g (float[2,2,3] q, float[2,2,3] k) => (" + std::string(outputs) +
         ") <float scale = {0.25}, float[1] two = {2}, float[3] three = {1, 2, 3}, float zero = {0}> {\n" +
         std::string(body) + "}";
}

const std::vector<Value> kInputs = {Tensor::Of<float>({1, -2, 3, -0.5f, 0.25f, 2, 4, 1, 0, -1, 2, 5}, Shape{2, 2, 3}),
                                    Tensor::Of<float>({2, 1, 3, 0.5f, 0.75f, -2, 4, -1, 7, -1, 2, 1}, Shape{2, 2, 3})};

void ExpectOneNode(std::string_view body, std::string_view want) {
  SCOPED_TRACE(body);
  const ops::Registry registry;
  Graph graph = PreparedGraph(Scores(body), registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  ASSERT_EQ(graph.order.size(), 1u) << ToText(graph);
  EXPECT_NE(ToText(graph).find(want), std::string::npos) << ToText(graph);
  ExpectSameValues(graph, before, registry, kInputs);
}

TEST(FuseMatMulTranspose, TakesTransposesAndFactorsOfBothSides) {
  ExpectOneNode("  t = Transpose<perm = [0, 2, 1]>(k)\n  y = MatMul(q, t)\n", "transB = 1");
  ExpectOneNode("  t = Transpose<perm = [0, 2, 1]>(k)\n  m = MatMul(q, t)\n  y = Mul(scale, m)\n", "alpha = 0.25");
  ExpectOneNode("  t = Transpose<perm = [0, 2, 1]>(k)\n  m = MatMul(q, t)\n  y = Div(m, two)\n", "alpha = 0.5");
  ExpectOneNode("  s = Mul(q, scale)\n  t = Transpose<perm = [0, 2, 1]>(k)\n  u = Mul(t, two)\n  y = MatMul(s, u)\n",
                "alpha = 0.5");
}

TEST(FuseMatMulTranspose, TransposesTheFirstOperand) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (float[3,2] a, float[3,2] b) => (float[2,2] y) {
  t = Transpose(a)
  y = MatMul(t, b)
})",
                              registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  ASSERT_EQ(graph.order.size(), 1u);
  ExpectSameValues(
      graph, before, registry,
      {Tensor::Of<float>({1, 2, 3, 4, 5, 6}, Shape{3, 2}), Tensor::Of<float>({1, 0, 2, -1, 3, 1}, Shape{3, 2})});
}

TEST(FuseMatMulTranspose, LeavesTheRestAlone) {
  const ops::Registry registry;
  for (const std::string& text :
       {Scores("  t = Transpose<perm = [0, 2, 1]>(k)\n  y = MatMul(q, t)\n", "float[2,2,2] y, float[2,3,2] t"),
        Scores("  t = Transpose<perm = [1, 2, 0]>(k)\n  y = MatMul(q, t)\n", "float[2,2,2] y"),
        Scores("  s = Mul(q, three)\n  u = Reshape(k, shape)\n  y = MatMul(s, u)\n", "y"),
        Scores("  u = Reshape(k, shape)\n  m = MatMul(q, u)\n  y = Div(two, m)\n", "y"),
        Scores("  u = Reshape(k, shape)\n  m = MatMul(q, u)\n  y = Div(m, zero)\n", "y")}) {
    std::string graph_text = text;
    if (graph_text.find("shape)") != std::string::npos)
      graph_text.replace(graph_text.find("<float scale"), 1, "<int64[3] shape = {2, 3, 2}, ");
    Graph graph = PreparedGraph(graph_text, registry);
    const std::string before = ToText(graph);
    EXPECT_FALSE(RunPass(graph, registry)) << ToText(graph);
    EXPECT_EQ(ToText(graph), before);
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
