// optimizer/passes/eliminate/fold_constants_test.cpp - what depends on constants only is computed; everything else, and
// what is random, stays.
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
  return RunVerified(kFoldConstants, graph, context);
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

// The limits of the config entries: bytes of all results of a node, and constants that stay quantized.
TEST(FoldConstants, FoldsNothingBeyondTheUsersLimit) {
  const ops::Registry registry;
  const std::string text =
      "g (float[4] x) => (float[4] y, float[2] z) <float16[4] h = {1, 2, 3, 4}, float16[2] i = {5, 6}> {"
      " a = Cast<to = 1>(h) n = Neg(a) y = Mul(x, n) b = Cast<to = 1>(i) m = Neg(b) z = Neg(m) }";
  for (const auto& [limit, nodes] : {std::pair(std::size_t{15}, 4u), std::pair(std::size_t{16}, 2u),
                                     std::pair(std::size_t{7}, 6u), std::pair(SIZE_MAX, 2u)}) {
    Graph graph = PreparedGraph(text, registry);
    const Graph before = graph;
    PassContext context{registry};
    context.fold_limit = limit;
    RunVerified(kFoldConstants, graph, context);
    EXPECT_EQ(graph.order.size(), nodes) << limit << ": " << ToText(graph);
    ExpectSameValues(graph, before, registry, {Floats({1, 2, 3, 4})});
  }
}

TEST(FoldConstants, KeepsDequantizationOnDemand) {
  const ops::Registry registry;
  const std::string text =
      "g (float[2] x) => (float[2] y) <int8[2] q = {3, -4}, float s = {0.5}, float[2] a = {1, 2}> {"
      " d = DequantizeLinear(q, s) n = Neg(a) b = Mul(d, n) y = Add(x, b) }";
  for (const bool keep : {false, true}) {
    Graph graph = PreparedGraph(text, registry);
    const Graph before = graph;
    PassContext context{registry};
    context.keep_dequantization = keep;
    EXPECT_TRUE(RunVerified(kFoldConstants, graph, context));
    EXPECT_EQ(graph.order.size(), keep ? 3u : 1u) << ToText(graph);
    ExpectSameValues(graph, before, registry, {Floats({1, 2})});
  }
}

TEST(FoldConstants, LeavesLargeHalfWeightsToProductsUnlessProvidersChoose) {
  const ops::Registry registry;
  for (const bool fold : {false, true}) {
    Graph graph = PreparedGraph(
        "g (float[n,256] x) => (float[n,256] y) { s = Constant<value_ints = [256, 256]>()\n"
        " w = ConstantOfShape<value = float16[1] {1.5}>(s)\n f = Cast<to = 1>(w)\n y = MatMul(x, f) }",
        registry);
    PassContext context{registry};
    context.fold_half_weights = fold;
    RunVerified(kFoldConstants, graph, context);
    const bool left = std::any_of(graph.order.begin(), graph.order.end(),
                                  [&](NodeId id) { return graph.node(id).op_type == "Cast"; });
    EXPECT_EQ(left, !fold) << ToText(graph);
  }
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

// Only once its axes are numbers does inference see that a node cannot work; folding sees it, and passes that infer
// anew later on.
TEST(FoldConstants, NoPassFailsBecauseOfWhatNoRunReaches) {
  const ops::Registry registry;
  for (const char* impossible : {"r = ReduceSum(v, eight)", "r, rest = Split<axis = 0>(v, eights)",
                                 "w = Unsqueeze(v, eight) r = Squeeze(w, eight)"}) {
    Graph graph = PreparedGraph(
        std::string("g (bool c, float[6] x) => (float[m] y) <int64[1] four = {4}, int64[2] fours = {4, 4}> {"
                    " n = NonZero(x) y = If<then_branch = t () => (float[p] r) { eight = Add(four, four) "
                    "eights = Add(fours, fours) v = Relu(x) ") +
            impossible + " }, else_branch = e () => (float[p] r2) { r2 = Neg(x) }>(c) }",
        registry);
    OptimizeOptions options;
    options.level = Level::kAll;
    ASSERT_NO_THROW(::sardonyx::testing::RunPipeline(graph, registry, options)) << impossible;
    const std::vector<Value> inputs = {Tensor::Scalar(false), Floats({1, 2, 3, 4, 5, 6})};
    EXPECT_EQ(::sardonyx::testing::Elements<float>(ops::EvaluateGraph(graph, registry, inputs)[0]),
              (std::vector<float>{-1, -2, -3, -4, -5, -6}));
  }
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
    return RunVerified(kFoldConstants, graph, context);
  };
  const char* product = "  t = Transpose<perm = [1, 0]>(w)\n  y = MatMul(x, t)\n";
  EXPECT_FALSE(folds(product, 32));
  EXPECT_TRUE(folds(product, 33));
  EXPECT_TRUE(folds("  t = Transpose<perm = [1, 0]>(w)\n  n = Neg(t)\n  y = MatMul(x, n)\n", 32));
}

}  // namespace
}  // namespace sardonyx::optimizer
