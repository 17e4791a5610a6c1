// optimizer/passes/fuse/fuse_product_batch_norm_test.cpp - BatchNormalization is folded into the weights of the product
// before it.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;

std::string Normalized(std::string_view product, std::string_view outputs = "float[3,2] y") {
  return "g (float[3,2] x, float[2,2] v) => (" + std::string(outputs) + R"()
<float[2,2] w = {1, 2, 3, 4}, float[2] b = {0.5, -1}, float[2] scale = {2, 3}, float[2] shift = {0.5, -1},
 float[2] mean = {1, -2}, float[2] variance = {4, 0.25}, float[3,1] column = {1, 2, 3}> {
  d = MatMul(x, w)
  e = Gemm<transB = 1>(x, w, b)
  c = )" +
         std::string(product) + "\n  y = BatchNormalization<epsilon = 0.01>(c, scale, shift, mean, variance)\n}";
}

bool RunPass(Graph& graph, const ops::Registry& registry) {
  PassContext context{registry};
  return RunVerified(kFuseProductBatchNorm, graph, context);
}

TEST(FuseProductBatchNorm, GoesIntoWeightsAndBias) {
  const ops::Registry registry;
  PassContext context{registry};
  for (const char* product :
       {"MatMul(x, w)", "Gemm(x, w)", "Gemm<transB = 1>(x, w, b)", "Gemm(x, w, b)", "Add(b, d)", "Add(e, b)"}) {
    SCOPED_TRACE(product);
    Graph graph = PreparedGraph(Normalized(product), registry);
    const Graph before = graph;
    EXPECT_TRUE(RunPass(graph, registry));
    RunVerified(kEliminateDeadNodes, graph, context);
    ASSERT_EQ(graph.order.size(), 1u);
    EXPECT_EQ(graph.node(graph.order[0]).op_type, "Gemm");
    ExpectSameValues(graph, before, registry,
                     {Tensor::Of<float>({1, -2, 3, 0.5f, 7, -1}, Shape{3, 2}), Tensor(DType::kFloat, Shape{2, 2})});
  }
}

TEST(FuseProductBatchNorm, LeavesTheRestAlone) {
  const ops::Registry registry;
  for (const std::string& text :
       {Normalized("MatMul(x, w)", "float[3,2] y, float[3,2] c"), Normalized("MatMul(x, v)"),
        Normalized("Gemm<alpha = 2.0>(x, w)"), Normalized("Gemm(x, w, column)"), Normalized("Add(d, column)")}) {
    Graph graph = PreparedGraph(text, registry);
    const std::string before = ToText(graph);
    EXPECT_FALSE(RunPass(graph, registry));
    EXPECT_EQ(ToText(graph), before);
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
