// optimizer/passes/fuse/fuse_product_epilogue_test.cpp - bias, residual and activation are fused into the product
// before them.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;

bool RunPass(Graph& graph, const ops::Registry& registry) {
  PassContext context{registry};
  return RunVerified(kFuseProductEpilogue, graph, context);
}

const Tensor kX = Tensor::Of<float>({1, -2, 3, -0.5f, 0.25f, 2}, Shape{1, 2, 3});

// x [1, 2, 3] times w [3, 2], then `body`, which makes y from m.
std::string WithProduct(std::string_view body, std::string_view outputs = "float[1,2,2] y") {
  return "g (float[1,2,3] x, float[1,2,2] r) => (" + std::string(outputs) + R"()
<float[3,2] w = {1, 2, -3, 4, 0.5, -6}, float[2] b = {0.5, -1}, float[1,1,2] b3 = {0.5, -1}, float low = {-1},
 float high = {2}, float[1] one = {1}> {
  m = MatMul(x, w)
)" + std::string(body) +
         "}";
}

void ExpectOneNode(std::string_view body, std::string_view want) {
  SCOPED_TRACE(body);
  const ops::Registry registry;
  Graph graph = PreparedGraph(WithProduct(body), registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  ASSERT_EQ(graph.order.size(), 1u);
  EXPECT_NE(ToText(graph).find(want), std::string::npos) << ToText(graph);
  ExpectSameValues(graph, before, registry, {kX, Tensor::Of<float>({1, 2, 3, -4}, Shape{1, 2, 2})});
}

TEST(FuseProductEpilogue, TakesBiasResidualAndActivation) {
  ExpectOneNode("  y = Add(m, b)\n", "y = ai.sardonyx.FusedMatMul(x, w, b)");
  ExpectOneNode("  y = Add(b3, m)\n", "y = ai.sardonyx.FusedMatMul(x, w, b3)");
  ExpectOneNode("  y = Add(r, m)\n", "y = ai.sardonyx.FusedMatMul(x, w, \"\", r)");
  ExpectOneNode("  s = Add(r, m)\n  y = Add(s, b)\n", "FusedMatMul(x, w, b, r)");
  ExpectOneNode("  s = Add(m, b)\n  y = Relu(s)\n", "activation = \"Relu\"");
}

TEST(FuseProductEpilogue, KnowsEveryActivation) {
  for (const char* activation : {"Relu(m)",
                                 "Gelu(m)",
                                 "Gelu<approximate = \"tanh\">(m)",
                                 "Sigmoid(m)",
                                 "Tanh(m)",
                                 "LeakyRelu<alpha = 0.3>(m)",
                                 "HardSigmoid<alpha = 0.3>(m)",
                                 "HardSwish(m)",
                                 "Clip(m, low, high)",
                                 "Clip(m, , high)",
                                 "Swish(m)",
                                 "Swish<alpha = 2.0>(m)",
                                 "com.microsoft.QuickGelu(m)",
                                 "com.microsoft.FastGelu(m)",
                                 "com.microsoft.FastGelu(m, b)",
                                 "com.microsoft.BiasGelu(m, b)",
                                 "Elu(m)",
                                 "Selu(m)",
                                 "Softplus(m)",
                                 "Softsign(m)",
                                 "ThresholdedRelu(m)"})
    ExpectOneNode("  y = " + std::string(activation) + "\n", "activation = ");
}

TEST(FuseProductEpilogue, GemmBecomesFusedGemm) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (float[2,3] x) => (float[2,2] y) <float[2,3] w = {1, 2, -3, 4, 0.5, -6}> {
  m = Gemm<transB = 1, alpha = 0.5>(x, w)
  y = LeakyRelu<alpha = 0.25>(m)
})",
                              registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  ASSERT_EQ(graph.order.size(), 1u);
  const Node& node = graph.node(graph.order[0]);
  EXPECT_EQ(node.domain + "." + node.op_type, "com.microsoft.FusedGemm");
  ExpectSameValues(graph, before, registry, {Tensor::Of<float>({1, -2, 3, -0.5f, 0.25f, 2}, Shape{2, 3})});
}

// com.microsoft FusedGemm does not take them: a session with one would not be created.
TEST(FuseProductEpilogue, GemmOfBfloat16StaysAlone) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (bfloat16[2,3] x, bfloat16[3,4] w) => (bfloat16[2,4] y) {
  m = Gemm(x, w)
  y = Relu(m)
})",
                              registry);
  EXPECT_FALSE(RunPass(graph, registry));
  EXPECT_EQ(graph.order.size(), 2u);
}

// A Gemm of the element type before `activation`; what reads m besides is in `more`.
std::string WithGemm(std::string_view activation, std::string_view dtype = "float", std::string_view more = "",
                     std::string_view outputs = "") {
  const std::string t(dtype);
  return "g (" + t + "[2,3] x) => (" + t + "[2,4] y" + std::string(outputs) + ") <" + t +
         "[4,3] w = {1.0, 2.0, -3.0, 4.0, 0.5, -6.0, 0.25, -0.5, 0.125, 2.0, 1.0, -2.0}, " + t +
         "[4] b = {0.5, -1.0, 0.25, 0.0}> { m = Gemm<transB = 1, alpha = 0.5>(x, w, b) y = " + std::string(activation) +
         " " + std::string(more) + "}";
}

// What ONNX Runtime writes: the parameters of the operator, also those that the author left to their defaults.
TEST(FuseProductEpilogue, FusedGemmHasTheParametersOfItsActivation) {
  const Tensor floats = Tensor::Of<float>({1, -2, 3, -0.5f, 0.25f, 2}, Shape{2, 3});
  Tensor halves(DType::kFloat16, floats.shape());
  for (int i = 0; i < 6; ++i) halves.data<Half>()[i] = Half(floats.data<float>()[i]);
  for (const auto& [activation, want] :
       {std::pair("Elu(m)", R"(activation = "Elu", activation_alpha = 1.0>)"),
        std::pair("Elu<alpha = 0.5>(m)", R"(activation = "Elu", activation_alpha = 0.5>)"),
        std::pair("Selu(m)", R"(activation = "Selu", activation_alpha = 1.6732632, activation_gamma = 1.050701>)"),
        std::pair("Selu<alpha = 0.5, gamma = 2.0>(m)",
                  R"(activation = "Selu", activation_alpha = 0.5, activation_gamma = 2.0>)"),
        std::pair("Softplus(m)", R"(activation = "Softplus">)"),
        std::pair("Softsign(m)", R"(activation = "Softsign">)"),
        std::pair("ThresholdedRelu(m)", R"(activation = "ThresholdedRelu", activation_alpha = 1.0>)"),
        std::pair("ThresholdedRelu<alpha = 0.25>(m)", R"(activation = "ThresholdedRelu", activation_alpha = 0.25>)"),
        std::pair("HardSigmoid(m)", R"(activation = "HardSigmoid", activation_alpha = 0.2, activation_beta = 0.5>)")}) {
    for (const char* dtype : {"float", "float16"}) {
      SCOPED_TRACE(std::string(dtype) + " " + activation);
      const ops::Registry registry;
      Graph graph = PreparedGraph(WithGemm(activation, dtype), registry);
      const Graph before = graph;
      EXPECT_TRUE(RunPass(graph, registry));
      ASSERT_EQ(graph.order.size(), 1u);
      EXPECT_NE(ToText(graph).find(want), std::string::npos) << ToText(graph);
      ExpectSameValues(graph, before, registry, {std::string_view(dtype) == "float16" ? halves : floats});
    }
  }
}

TEST(FuseProductEpilogue, LeavesAGemmWithOtherReadersAlone) {
  const ops::Registry registry;
  for (const std::string& text :
       {WithGemm("Elu(m)", "float", "", ", float[2,4] m"), WithGemm("Elu(m)", "float", "z = Neg(m) ", ", float[2,4] z"),
        WithGemm("Celu(m)"), WithGemm("Elu(m)", "double")}) {
    Graph graph = PreparedGraph(text, registry);
    const std::string before = ToText(graph);
    EXPECT_FALSE(RunPass(graph, registry));
    EXPECT_EQ(ToText(graph), before);
  }
}

TEST(FuseProductEpilogue, LeavesOtherReadersShapesAndTypesAlone) {
  const ops::Registry registry;
  for (const std::string& text :
       {WithProduct("  y = Relu(m)\n", "float[1,2,2] y, float[1,2,2] m"),  // m is an output
        WithProduct("  n = Relu(m)\n  y = Mul(n, m)\n"),                   // m has two readers
        WithProduct("  y = Add(m, one)\n"),                                // broadcasts along the columns
        WithProduct("  y = Add(m, m)\n"),
        std::string("g (double[1,2,2] x, double[2] b) => (double[1,2,2] y) {\n  m = MatMul(x, x)\n  y = Add(m, b)\n}"),
        std::string(
            "g (float[2,2] x, float[3,2,2] r) => (float[3,2,2] y) {\n  m = MatMul(x, x)\n  y = Add(m, r)\n}")}) {
    Graph graph = PreparedGraph(text, registry);
    const std::string before = ToText(graph);
    EXPECT_FALSE(RunPass(graph, registry));
    EXPECT_EQ(ToText(graph), before);
  }
}

TEST(FuseProductEpilogue, TakesAResidualThatIsMadeLater) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(WithProduct("  late = Neg(r)\n  y = Add(m, late)\n"), registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  EXPECT_EQ(graph.order.size(), 2u);
  ExpectSameValues(graph, before, registry, {kX, Tensor::Of<float>({1, 2, 3, -4}, Shape{1, 2, 2})});
}

}  // namespace
}  // namespace sardonyx::optimizer
