// optimizer/passes/rewrite/widen_half_test.cpp - chains of float16 operators become float; single operators, bodies and
// casts that the author rounds with stay.
#include "optimizer/passes/passes.h"
#include "testing/evaluate_op.h"
#include "testing/pass_test.h"
#include "testing/prepared_graph.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;

bool RunPass(Graph& graph, const ops::Registry& registry) {
  PassContext context{registry};
  return RunVerified(kWidenHalf, graph, context);
}

Tensor Halves(std::initializer_list<float> values) {
  Tensor tensor(DType::kFloat16, Shape{static_cast<std::int64_t>(values.size())});
  Half* to = tensor.data<Half>();
  for (const float value : values) *to++ = Half(value);
  return tensor;
}

TEST(WidenHalf, ComputesAChainInFloatAndRoundsItsEnd) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (float16[2] x) => (float16[2] y) <float16[2] w = {0.5, 2.0}> { a = Mul(x, w) b = Abs(a) y = Neg(b) }",
      registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  EXPECT_EQ(ToText(graph),
            R"(g (float16[2] x) => (float16[2] y) <float[2] w_float = {0.5, 2}> {
  x_float = Cast <to = 1> (x)
  a_float = Mul(x_float, w_float)
  b_float = Abs(a_float)
  y_float = Neg(b_float)
  y = Cast <to = 10> (y_float)
}
)");
  ExpectSameValues(graph, before, registry, {Halves({1, -0.25f})});
}

TEST(WidenHalf, MovesElementsInFloatAndDropsTheCastToFloatBehind) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (float16[2] x) => (float[2,1] y, bool[2] c)
<int64[2] shape = {2, 1}, float16[2] w = {0.5, 2.0}> {
  a = Mul(x, x)
  b = Abs(a)
  c = Less(b, w)
  d = Reshape(b, shape)
  y = Cast <to = 1> (d)
})",
                              registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  const std::string text = ToText(graph);
  EXPECT_NE(text.find("Less(b_float, w_float)"), std::string::npos) << text;
  EXPECT_NE(text.find("Reshape(b_float, shape)"), std::string::npos) << text;
  EXPECT_EQ(text.find("to = 10"), std::string::npos) << text;
  ExpectSameValues(graph, before, registry, {Halves({1, -0.25f})});
}

TEST(WidenHalf, TakesTheFloatBehindACastInFront) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (float[2] x) => (float[2] y) { h = Cast <to = 10> (x) a = Mul(h, h) y = Cast <to = 1> (a) }", registry);
  EXPECT_TRUE(RunPass(graph, registry));
  EXPECT_EQ(graph.order.size(), 2u) << ToText(graph);
  EXPECT_NE(ToText(graph).find("a_float = Mul(x, x)"), std::string::npos) << ToText(graph);
}

// A cast to float and back between two chains: what reads its result reads what the first chain computes.
TEST(WidenHalf, ChainsMeetAtACastThereAndBack) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (float16[2] x, float16[2] z) => (float16[2] y) {
  a = Add(x, x)
  b = Cast <to = 1> (a)
  c = Cast <to = 10> (b)
  y = Add(z, c)
})",
                              registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  const std::string text = ToText(graph);
  EXPECT_NE(text.find("Add(z_float, a_float)"), std::string::npos) << text;
  ExpectSameValues(graph, before, registry, {Halves({1, -0.25f}), Halves({2, 3})});
}

TEST(WidenHalf, LeavesCastsThatAreThereToRound) {
  const ops::Registry registry;
  Graph graph =
      PreparedGraph("g (float[2] x) => (float[2] y) { h = Cast <to = 10> (x) y = Cast <to = 1> (h) }", registry);
  EXPECT_FALSE(RunPass(graph, registry)) << ToText(graph);
}

TEST(WidenHalf, ValuesThatOthersReadKeepTheirHalfForm) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (bool c, float16[2] x) => (float16[2] a, float16[2] y) {
  a = Mul(x, x)
  b = Abs(a)
  y = If (c) <then_branch = t () => (float16[2] p) { p = Neg(b) },
              else_branch = e () => (float16[2] q) { q = Identity(x) }>
})",
                              registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  const std::string text = ToText(graph);
  EXPECT_NE(text.find("a = Cast <to = 10> (a_float)"), std::string::npos) << text;
  EXPECT_NE(text.find("b = Cast <to = 10> (b_float)"), std::string::npos) << text;
  ExpectSameValues(graph, before, registry, {Tensor::Of<bool>({true}, Shape{}), Halves({1, -0.25f})});
}

TEST(WidenHalf, LeavesASingleOperatorAndMereMovement) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (float16[2] x, int64[1] i) => (float16[2] y, float16[1] z, seq(float16[2]) s)
<float16[4] table = {1, 2, 3, 4}> {
  y = Exp(x)
  z = Gather(table, i)
  s = SequenceConstruct(x)
})",
                              registry);
  EXPECT_FALSE(RunPass(graph, registry));
}

TEST(WidenHalf, LeavesCachesAsTheyAreStored) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (float16[1,1,12] x, float16[1,1,p,4] k, float16[1,1,p,4] v, int32[1] lengths,
   int32 total) => (float16[1,1,4] y, float16[1,1,t,4] new_k, float16[1,1,t,4] new_v) {
  a = Neg(x)
  b, new_k, new_v = com.microsoft.GroupQueryAttention <num_heads = 1, kv_num_heads = 1> (a, , , k, v, lengths, total)
  y = Neg(b)
})",
                              registry);
  EXPECT_TRUE(RunPass(graph, registry));
  const std::string text = ToText(graph);
  EXPECT_NE(text.find("b_float, new_k, new_v = com.microsoft.GroupQueryAttention"), std::string::npos) << text;
  EXPECT_NE(text.find("(a_float, \"\", \"\", k, v, lengths, total)"), std::string::npos) << text;
}

// The graph with `rows` x 256 halves in the place of its input w.
Graph WithWeights(const std::string& text, std::int64_t rows, const ops::Registry& registry) {
  Graph graph = PreparedGraph(
      "g (float16[n," + std::to_string(rows) + "] x, float16[" + std::to_string(rows) + ",256] w) => " + text,
      registry);
  const ValueId w = *graph.Find("w");
  graph.value(w).is_input = false;
  std::erase(graph.inputs, w);
  auto initializer = std::make_shared<Initializer>();
  initializer->tensor = testing::RandomTensors().Uniform(DType::kFloat16, Shape{rows, 256});
  graph.SetInitializer(w, std::move(initializer));
  return graph;
}

TEST(WidenHalf, LeavesTheCastOfLargeWeightsToTheProductsThatPackThem) {
  const ops::Registry registry;
  const auto left = [&](const std::string& text, std::int64_t rows = 128) {
    Graph graph = WithWeights(text, rows, registry);
    const Graph before = graph;
    EXPECT_TRUE(RunPass(graph, registry));
    ExpectSameValues(graph, before, registry, {testing::RandomTensors().Uniform(DType::kFloat16, Shape{2, rows})});
    PassContext context{registry};
    EXPECT_FALSE(RunVerified(kFoldConstants, graph, context));
    return testing::Operators(graph);
  };
  EXPECT_EQ(left("(float16[n,256] y) { a = MatMul(x, w) y = Neg(a) }"), "Cast Cast MatMul Neg Cast");
  EXPECT_EQ(left("(float16[n,256] y) { a = Gemm(x, w) b = MatMul(x, w) y = Add(a, b) }"),
            "Cast Cast Gemm MatMul Add Cast");
  // Too small; read by another operator, too.
  EXPECT_EQ(left("(float16[n,256] y) { a = MatMul(x, w) y = Neg(a) }", 127), "Cast MatMul Neg Cast");
  EXPECT_EQ(
      left("(float16[n,256] y, float16[128,256] z) { a = MatMul(x, w) y = Neg(a) r = ReduceMax<keepdims = 0>(a) b = "
           "Mul(w, r) z = Neg(b) }"),
      "Cast MatMul Neg ReduceMax Mul Neg Cast Cast");
}

}  // namespace
}  // namespace sardonyx::optimizer
