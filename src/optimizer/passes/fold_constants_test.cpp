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

TEST(FoldConstants, CastLikeNeedsTheOtherTypeOnly) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (double[N] x) => (double[N] y) <float a = {2.5}> { n = Neg(x) c = CastLike(a, n) y = Mul(n, c) }", registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  ASSERT_EQ(graph.order.size(), 2u) << ToText(graph);
  const Tensor* folded = graph.value(graph.node(graph.order[1]).inputs[1]).constant();
  ASSERT_NE(folded, nullptr);
  EXPECT_EQ(::sardonyx::testing::Elements<double>(*folded), (std::vector<double>{2.5}));
  ExpectSameValues(graph, before, registry, {Tensor::Of<double>({1, -2}, Shape{2})});
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

TEST(FoldConstants, FillsLargeWeightsOfProductsButNothingElseThatIsLarge) {
  const ops::Registry registry;
  for (const auto& [consumer, folds] : {std::pair("MatMul(x, w)", true), std::pair("Add(x, w)", false)}) {
    Graph graph = PreparedGraph(std::string("g (float[512,512] x) => (float[512,512] y) { s = "
                                            "Constant<value_ints = [512, 512]>() w = ConstantOfShape<value = float "
                                            "{0.5}>(s) y = ") +
                                    consumer + " }",
                                registry);
    RunPass(graph, registry);
    EXPECT_EQ(graph.order.size(), folds ? 1u : 2u) << ToText(graph);
  }
  // Together they stay below 1 GiB: of three weights of 400 MB, two are filled.
  Graph many = PreparedGraph(
      "g (float[1,10000] x) => (float[1,10000] y) { s = Constant<value_ints = [10000, 10000]>() a = "
      "ConstantOfShape<value = float {0.5}>(s) b = ConstantOfShape<value = float {0.25}>(s) c = ConstantOfShape<value "
      "= "
      "float {0.125}>(s) p = MatMul(x, a) q = MatMul(p, b) y = MatMul(q, c) }",
      registry);
  RunPass(many, registry);
  EXPECT_EQ(many.order.size(), 4u) << ToText(many);
  // A declared size that no machine has is left to the run, which refuses it.
  Graph graph = PreparedGraph(
      "g (float[1,70000000] x) => (float[1,70000000] y) { s = Constant<value_ints = [70000000, 70000000]>() w = "
      "ConstantOfShape<value = float {0.5}>(s) y = MatMul(x, w) }",
      registry);
  RunPass(graph, registry);
  EXPECT_EQ(graph.order.size(), 2u) << ToText(graph);
}

TEST(FoldConstants, LeavesLargeTranspositionsToTheProductThatReadsThem) {
  const ops::Registry registry;
  const auto folds = [&](const char* body, std::size_t bytes) {
    Graph graph = PreparedGraph(
        "g (float[3,2] x) => (float[3,4] y) <float[4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}> {\n" + std::string(body) + "}",
        registry);
    PassContext context{registry};
    context.min_kept_transpose_bytes = bytes;
    return kFoldConstants.run(graph, context);
  };
  const char* product = "  t = Transpose<perm = [1, 0]>(w)\n  y = MatMul(x, t)\n";
  EXPECT_FALSE(folds(product, 32));
  EXPECT_TRUE(folds(product, 33));
  EXPECT_TRUE(folds("  t = Transpose<perm = [1, 0]>(w)\n  n = Neg(t)\n  y = MatMul(x, n)\n", 32));
}

}  // namespace
}  // namespace sardonyx::optimizer
