// optimizer/passes/fuse/fuse_gelu_test.cpp - GELU that is spelled out becomes one node; near misses stay.
#include "optimizer/passes/passes.h"
#include "testing/evaluate_op.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::Floats;
using ::sardonyx::testing::PreparedGraph;

constexpr const char* kErf = R"(gelu (float[4] x) => (float[4] y)
<float half = {0.5}, float one = {1}, float root = {1.41421356}> {
  q = Div(x, root)
  e = Erf(q)
  s = Add(e, one)
  p = Mul(x, s)
  y = Mul(p, half)
})";
constexpr const char* kTanh = R"(gelu (float[4] x) => (float[4] y)
<float half = {0.5}, float one = {1}, float three = {3}, float c = {0.044715}, float k = {0.79788456}> {
  cube = Pow(x, three)
  t = Mul(cube, c)
  u = Add(x, t)
  v = Mul(u, k)
  w = Tanh(v)
  s = Add(w, one)
  h = Mul(x, half)
  y = Mul(h, s)
})";
std::vector<Value> Input() { return {Floats({-3, -0.5f, 0, 2})}; }

TEST(FuseGelu, FromErf) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(kErf, registry);
  const Graph before = graph;
  EXPECT_EQ(ApplyRules(kFuseGelu.rules, graph, registry), 1);
  EXPECT_EQ(graph.order.size(), 1u);
  EXPECT_NE(ToText(graph).find("y = Gelu(x)\n"), std::string::npos) << ToText(graph);
  ExpectSameValues(graph, before, registry, Input());
}

TEST(FuseGelu, FromTanh) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(kTanh, registry);
  const Graph before = graph;
  EXPECT_EQ(ApplyRules(kFuseGelu.rules, graph, registry), 1);
  EXPECT_EQ(graph.order.size(), 1u);
  EXPECT_NE(ToText(graph).find("y = Gelu <approximate = \"tanh\"> (x)\n"), std::string::npos) << ToText(graph);
  ExpectSameValues(graph, before, registry, Input());
}

TEST(FuseGelu, LeavesAnotherDivisorAlone) {
  const ops::Registry registry;
  std::string text = kErf;
  text.replace(text.find("1.41421356"), 10, "1.5");
  Graph graph = PreparedGraph(text, registry);
  const std::string before = ToText(graph);
  EXPECT_EQ(ApplyRules(kFuseGelu.rules, graph, registry), 0);
  EXPECT_EQ(ToText(graph), before);
}

}  // namespace
}  // namespace sardonyx::optimizer
