// optimizer/passes/eliminate/eliminate_common_subexpressions_test.cpp - equal nodes become one; what only looks equal
// stays.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;

std::size_t NodesLeft(const std::string& body, const std::string& outputs = "float[2] y") {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (float[2] x, float[2] z) => (" + outputs + ") <float a = {2}, float b = {2}> {" + body + "}", registry);
  const Graph before = graph;
  PassContext context{registry};
  RunVerified(kEliminateCommonSubexpressions, graph, context);
  ExpectSameValues(graph, before, registry, {Tensor::Of<float>({1, 2}, Shape{2}), Tensor::Of<float>({3, 5}, Shape{2})});
  return graph.order.size();
}

TEST(EliminateCommonSubexpressions, JoinsChains) {
  EXPECT_EQ(NodesLeft("p = Relu(x) q = Relu(x) r = Neg(p) s = Neg(q) y = Add(r, s)"), 3u);
}
TEST(EliminateCommonSubexpressions, SeesEqualConstantsAndSwappedOperands) {
  EXPECT_EQ(NodesLeft("p = Mul(x, a) q = Mul(b, x) y = Add(p, q)"), 2u);
}
TEST(EliminateCommonSubexpressions, KeepsOrderAttributesAndOutputsApart) {
  EXPECT_EQ(NodesLeft("p = Sub(x, z) q = Sub(z, x) y = Mul(p, q)"), 3u);
  EXPECT_EQ(NodesLeft("p = Elu<alpha = 0.5>(x) q = Elu<alpha = 0.25>(x) y = Mul(p, q)"), 3u);
  EXPECT_EQ(NodesLeft("y = Relu(x) w = Relu(x)", "float[2] y, float[2] w"), 2u);
}
TEST(EliminateCommonSubexpressions, LeavesRandomNumbersAlone) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (float[2] x) => (float[2] y) { p = RandomNormalLike(x) q = RandomNormalLike(x) y = Sub(p, q) }", registry);
  PassContext context{registry};
  RunVerified(kEliminateCommonSubexpressions, graph, context);
  EXPECT_EQ(graph.order.size(), 3u);
}

// Attributes are compared up to 4096 bytes: of larger ones the keys would take more memory than the nodes.
TEST(EliminateCommonSubexpressions, LeavesNodesOfLargeAttributesAlone) {
  const ops::Registry registry;
  const auto nodes_left = [&](const std::string& dtype, const std::string& attributes) {
    const std::string node = "ai.onnx.ml.LabelEncoder<" + attributes + ">(x) ";
    Model model = ParseModel("<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.ml\" : 2]> g (" + dtype +
                             "[2] x) => (bool[2] y) { p = " + node + "q = " + node + "y = Equal(p, q) }");
    ops::ResolveVersions(model.graph, registry, model);
    ops::Infer(model.graph, registry);
    PassContext context{registry};
    RunVerified(kEliminateCommonSubexpressions, model.graph, context);
    return model.graph.order.size();
  };
  const auto list = [](int count, const std::string& suffix) {
    std::string numbers;
    for (int i = 0; i < count; ++i) numbers += (i == 0 ? "[" : ", ") + std::to_string(i) + suffix;
    return numbers + "]";
  };
  for (const int over : {0, 1}) {
    const std::string integers =
        "keys_int64s = " + list(512 + over, "") + ", values_floats = " + list(512 + over, ".5");
    const std::string reals =
        "keys_floats = " + list(1024 + over, ".5") + ", values_floats = " + list(1024 + over, ".5");
    const std::string text = "keys_int64s = [1], values_floats = [2.5], default_string = \"";
    const std::size_t left = over == 0 ? 2 : 3;
    EXPECT_EQ(nodes_left("int64", integers), left);
    EXPECT_EQ(nodes_left("float", reals), left);
    EXPECT_EQ(nodes_left("int64", text + std::string(static_cast<std::size_t>(4096 + over), 'a') + "\""), left);
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
