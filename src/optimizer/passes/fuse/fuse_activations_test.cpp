// optimizer/passes/fuse/fuse_activations_test.cpp - activations that are spelled out become one node; near misses stay.
#include "optimizer/passes/passes.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;

// The operator the body becomes, after checking the values.
std::string Fused(std::string_view body) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      std::string("g (float[7] x) => (float[7] y) <float zero = {0}, float three = {3}, "
                  "float six = {6}, float sixth = {0.16666667}, float one = {1}, float twenty = {20}> {") +
          std::string(body) + "}",
      registry);
  const Graph before = graph;
  ApplyRules(kFuseActivations.rules, graph, registry);
  ExpectSameValues(graph, before, registry, {Tensor::Of<float>({-9, -3, -0.5f, 0, 0.25f, 3, 8}, Shape{7})});
  std::string text;
  for (const NodeId id : graph.order) text += (text.empty() ? "" : " ") + graph.node(id).op_type;
  return text;
}

TEST(FuseActivations, FindsSiluInEitherOrder) {
  EXPECT_EQ(Fused("s = Sigmoid(x) y = Mul(x, s)"), "Swish");
  EXPECT_EQ(Fused("s = Sigmoid(x) y = Mul(s, x)"), "Swish");
}

TEST(FuseActivations, FindsHardSwishInEverySpelling) {
  EXPECT_EQ(Fused("a = Add(three, x) c = Clip(a, zero, six) m = Mul(c, x) y = Div(m, six)"), "HardSwish");
  EXPECT_EQ(Fused("a = Add(x, three) c = Clip(a, zero, six) d = Div(c, six) y = Mul(x, d)"), "HardSwish");
  EXPECT_EQ(Fused("a = Add(x, three) c = Clip(a, zero, six) m = Mul(x, c) y = Mul(sixth, m)"), "HardSwish");
  EXPECT_EQ(Fused("a = Add(x, three) c = Clip(a, zero, six) m = Mul(c, sixth) y = Mul(x, m)"), "HardSwish");
  EXPECT_EQ(Fused("h = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x) y = Mul(x, h)"), "HardSwish");
}

TEST(FuseActivations, FindsHardSigmoidAndMish) {
  EXPECT_EQ(Fused("a = Add(x, three) c = Clip(a, zero, six) y = Div(c, six)"), "HardSigmoid");
  EXPECT_EQ(Fused("a = Add(x, three) c = Clip(a, zero, six) y = Mul(c, sixth)"), "HardSigmoid");
  EXPECT_EQ(Fused("p = Softplus(x) t = Tanh(p) y = Mul(x, t)"), "Mish");
}

TEST(FuseActivations, FindsSoftplusWithABound) {
  const std::string bound = "g = Greater(l, twenty) p = Softplus(l) y = Where(g, l, p)";
  EXPECT_EQ(Fused("l = Mul(x, six) " + bound), "Mul Softplus") << "from 48 on, it is x";
  EXPECT_EQ(Fused("l = Mul(x, six) g = Greater(l, six) p = Softplus(l) y = Where(g, l, p)"),
            "Mul Greater Softplus Where")
      << "Softplus(7) is not 7";
}

TEST(FuseActivations, LeavesOtherConstantsAndOtherBoundsAlone) {
  EXPECT_EQ(Fused("a = Add(x, one) c = Clip(a, zero, six) m = Mul(c, x) y = Div(m, six)"), "Add Clip Mul Div");
  EXPECT_EQ(Fused("h = HardSigmoid(x) y = Mul(x, h)"), "HardSigmoid Mul");
}

TEST(FuseActivations, LeavesASigmoidOfAnotherValueAlone) {
  EXPECT_EQ(Fused("n = Neg(x) s = Sigmoid(n) y = Mul(x, s)"), "Neg Sigmoid Mul");
}

}  // namespace
}  // namespace sardonyx::optimizer
