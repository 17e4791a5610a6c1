// optimizer/passes/fuse/fuse_matmul_add_test.cpp - MatMul and Add of matrices become Gemm; other ranks and shapes stay.
#include "optimizer/passes/passes.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;

std::string Sum(std::string_view a, std::string_view c, std::string_view sum) {
  return "g (" + std::string(a) + " a, " + std::string(c) + " c) => (y) <float[3,2] b = {1, 2, -3, 4, 0.5, -6}> {\n" +
         "  m = MatMul(a, b)\n  y = " + std::string(sum) + "\n}";
}

TEST(FuseMatMulAdd, TakesEveryFormOfC) {
  const ops::Registry registry;
  const Tensor a = Tensor::Of<float>({1, -2, 3, -0.5f, 0.25f, 2}, Shape{2, 3});
  const struct {
    const char* type;
    Tensor c;
  } cases[] = {{"float[2]", Tensor::Of<float>({1, 2}, Shape{2})},
               {"float[1,2]", Tensor::Of<float>({1, 2}, Shape{1, 2})},
               {"float[2,1]", Tensor::Of<float>({1, 2}, Shape{2, 1})},
               {"float[2,2]", Tensor::Of<float>({1, 2, 3, 4}, Shape{2, 2})},
               {"float", Tensor::Scalar<float>(3)}};
  for (const auto& [type, c] : cases)
    for (const char* sum : {"Add(m, c)", "Add(c, m)"}) {
      SCOPED_TRACE(std::string(type) + " " + sum);
      Graph graph = PreparedGraph(Sum("float[2,3]", type, sum), registry);
      const Graph before = graph;
      EXPECT_EQ(ApplyRules(kFuseMatMulAdd.rules, graph, registry), 1);
      EXPECT_NE(ToText(graph).find("y = Gemm(a, b, c)"), std::string::npos) << ToText(graph);
      ExpectSameValues(graph, before, registry, {a, c});
    }
}

TEST(FuseMatMulAdd, LeavesWhatGemmCannotSay) {
  const ops::Registry registry;
  for (const std::string& text :
       {Sum("float[1,2,3]", "float[2]", "Add(m, c)"), Sum("float[2,3]", "float[4,2,2]", "Add(m, c)"),
        Sum("float[1,3]", "float[5,2]", "Add(m, c)"), Sum("float[2,3]", "float[N,2]", "Add(m, c)")}) {
    Graph graph = PreparedGraph(text, registry);
    const std::string before = ToText(graph);
    EXPECT_EQ(ApplyRules(kFuseMatMulAdd.rules, graph, registry), 0);
    EXPECT_EQ(ToText(graph), before);
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
