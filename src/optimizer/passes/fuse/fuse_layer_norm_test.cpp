// optimizer/passes/fuse/fuse_layer_norm_test.cpp - LayerNormalization and RMSNormalization in the spellings of
// exporters become one node; near misses stay.
#include "ops/upgrade.h"
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;
using ::sardonyx::testing::PreparedGraph;

constexpr const char* kConstants =
    "<float[2] scale = {2, 3}, float[2] bias = {0.5, -1}, float eps = {1e-5}, float two = {2}, float one = {1}, "
    "float minus_half = {-0.5}, int64[1] last = {-1}, int64[1] first = {0}>";

std::string Text(std::string_view body) {
  return "norm (float[2,2] x) => (float[2,2] y)\n" + std::string(kConstants) + " {\n" + std::string(body) + "}\n";
}

// The operators left, in order; the values must be those of the graph before.
std::string Fused(const std::string& text) {
  return OperatorsAfter(text, {&kFuseLayerNorm, &kEliminateDeadNodes},
                        {{Tensor::Of<float>({1, 2, -3, 5}, Shape{2, 2})}});
}

constexpr const char* kMean = "m = ReduceMean<keepdims = 1>(x, last)\n d = Sub(x, m)\n";

TEST(FuseLayerNorm, TakesEveryWayToSquareAndToDivide) {
  for (const char* square : {"s = Pow(d, two)\n", "s = Mul(d, d)\n", "d2 = Sub(x, m)\n s = Mul(d, d2)\n"}) {
    for (const char* quotient :
         {"r = Sqrt(e)\n q = Div(d, r)\n", "r = Sqrt(e)\n i = Reciprocal(r)\n q = Mul(i, d)\n",
          "r = Sqrt(e)\n i = Div(one, r)\n q = Mul(d, i)\n", "i = Pow(e, minus_half)\n q = Mul(d, i)\n"}) {
      EXPECT_EQ(Fused(Text(std::string(kMean) + square + "v = ReduceMean<keepdims = 1>(s, last)\n e = Add(v, eps)\n" +
                           quotient + "w = Mul(q, scale)\n y = Add(w, bias)\n")),
                "LayerNormalization")
          << square << quotient;
    }
  }
}

TEST(FuseLayerNorm, TakesSwappedOperandsAndMissingParameters) {
  const std::string core =
      std::string(kMean) + "s = Pow(d, two)\n v = ReduceMean<keepdims = 1>(s, last)\n e = Add(eps, v)\n r = Sqrt(e)\n";
  EXPECT_EQ(Fused(Text(core + "q = Div(d, r)\n w = Mul(scale, q)\n y = Add(bias, w)\n")), "LayerNormalization");
  EXPECT_EQ(Fused(Text(core + "q = Div(d, r)\n y = Mul(q, scale)\n")), "LayerNormalization");
  EXPECT_EQ(Fused(Text(core + "y = Div(d, r)\n")), "LayerNormalization");
  EXPECT_EQ(Fused(Text(core + "q = Div(d, r)\n y = Add(q, bias)\n")), "LayerNormalization");
}

TEST(FuseLayerNorm, TakesAxesAsAnAttribute) {
  const std::string text =
      "<ir_version: 8, opset_import: [\"\" : 13]> norm (float[2,2] x) => (float[2,2] y) "
      "<float eps = {1e-5}> { m = ReduceMean<axes = [1], keepdims = 1>(x) d = Sub(x, m) "
      "s = Mul(d, d) v = ReduceMean<axes = [1], keepdims = 1>(s) e = Add(v, eps) r = Sqrt(e) "
      "y = Div(d, r) }";
  Model model = ParseModel(text);
  const ops::Registry registry;
  ops::ResolveVersions(model.graph, registry, model);
  ops::Infer(model.graph, registry);
  ops::Upgrade(model.graph, registry);
  PassContext context{registry};
  EXPECT_TRUE(RunVerified(kFuseLayerNorm, model.graph, context));
  EXPECT_EQ(model.graph.order.size(), 1u) << ToText(model.graph);
}

TEST(FuseLayerNorm, TakesRootMeanSquare) {
  EXPECT_EQ(Fused(Text("s = Pow(x, two)\n v = ReduceMean<keepdims = 1>(s, last)\n e = Add(v, eps)\n r = Sqrt(e)\n"
                       "i = Div(one, r)\n q = Mul(x, i)\n y = Mul(scale, q)\n")),
            "RMSNormalization");
}

TEST(FuseLayerNorm, TakesHalfPrecisionBetweenCasts) {
  EXPECT_EQ(Fused("norm (float[2,2] x) => (float[2,2] y) <float16[2] scale = {2, 3}, float16[2] bias = {0.5, 1}, "
                  "float eps = {1e-5}, float two = {2}, int64[1] last = {1}> {\n"
                  "h = Cast<to = 10>(x) f = Cast<to = 1>(h) m = ReduceMean<keepdims = 1>(f, last) d = Sub(f, m)\n"
                  "s = Pow(d, two) v = ReduceMean<keepdims = 1>(s, last) e = Add(v, eps) r = Sqrt(e) q = Div(d, r)\n"
                  "g = Cast<to = 10>(q) w = Mul(g, scale) z = Add(w, bias) y = Cast<to = 1>(z) }"),
            "Cast LayerNormalization Cast");
}

TEST(FuseLayerNorm, LeavesAnEpsilonThatAddsAxes) {
  std::string text =
      Text("s = Pow(x, two)\n v = ReduceMean(s, last)\n e = Add(v, deep)\n r = Sqrt(e)\n y = Div(x, r)\n");
  text.replace(text.find("(float[2,2] y)"), 14, "(float[1,2,2] y)");
  text.replace(text.find("float eps"), 9, "float[1,1,1] deep = {1e-5}, float eps");
  EXPECT_EQ(Fused(text), "Pow ReduceMean Add Sqrt Div");
}

TEST(FuseLayerNorm, LeavesWhatIsNone) {
  const std::string tail = "e = Add(v, eps)\n r = Sqrt(e)\n y = Div(d, r)\n";
  EXPECT_EQ(Fused(Text("m = ReduceMean<keepdims = 1>(x, first)\n d = Sub(x, m)\n s = Mul(d, d)\n"
                       "v = ReduceMean<keepdims = 1>(s, first)\n" +
                       tail)),
            "ReduceMean Sub Mul ReduceMean Add Sqrt Div")
      << "a mean over the first axis";
  EXPECT_EQ(Fused(Text(std::string(kMean) + "s = Mul(d, x)\n v = ReduceMean<keepdims = 1>(s, last)\n" + tail)),
            "ReduceMean Sub Mul ReduceMean Add Sqrt Div")
      << "no square";
  EXPECT_EQ(Fused(Text(std::string(kMean) + "s = Mul(d, d)\n v = ReduceMean<keepdims = 1>(s, last)\n e = Add(v, eps)\n"
                                            "r = Sqrt(e)\n y = Div(x, r)\n")),
            "ReduceMean Sub Mul ReduceMean Add Sqrt Div")
      << "another numerator";
}

// Ones for each of them would be a scale of 8 MB.
TEST(FuseLayerNorm, LeavesAxesOfManyElementsWithoutAScale) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (float[2,1024,2048] x) => (float[2,1024,2048] y)
<float eps = {1e-5}, int64[2] last = {1, 2}> {
  m = ReduceMean<keepdims = 1>(x, last)
  d = Sub(x, m)
  s = Mul(d, d)
  v = ReduceMean<keepdims = 1>(s, last)
  e = Add(v, eps)
  r = Sqrt(e)
  y = Div(d, r)
})",
                              registry);
  PassContext context{registry};
  EXPECT_FALSE(RunVerified(kFuseLayerNorm, graph, context)) << ToText(graph);
}

TEST(FuseLayerNorm, MovesATransposeOfOtherAxesBehindIt) {
  const auto moved = [](const std::string& body) {
    Tensor x(DType::kFloat, Shape{1, 2, 3, 2});
    for (std::int64_t i = 0; i < x.count(); ++i) x.data<float>()[i] = static_cast<float>(i * 5 % 11 - 4);
    return OperatorsAfter(
        "g (float[1,2,3,2] x) => (float[a,b,c,d] y) <float[2] scale = {2, 3}, float[2] bias = {1, 4},"
        " float[3] three = {1, 2, 3}> { " +
            body + " }",
        {&kFuseLayerNorm, &kEliminateDeadNodes}, {{x}});
  };
  const std::string heads = "t = Transpose<perm = [0, 2, 1, 3]>(x) ";
  EXPECT_EQ(moved(heads + "y = RMSNormalization<axis = -1>(t, scale)"), "RMSNormalization Transpose");
  EXPECT_EQ(moved(heads + "y = LayerNormalization<axis = 3, epsilon = 0.5>(t, scale, bias)"),
            "LayerNormalization Transpose");
  EXPECT_EQ(moved(heads + "n = Neg(t) z = RMSNormalization<axis = -1>(t, scale) y = Add(n, z)"),
            "Transpose Neg RMSNormalization Add")
      << "others read it";
  EXPECT_EQ(moved("t = Transpose<perm = [0, 1, 3, 2]>(x) y = RMSNormalization<axis = -1>(t, three)"),
            "Transpose RMSNormalization");
}

}  // namespace
}  // namespace sardonyx::optimizer
