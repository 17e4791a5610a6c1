// optimizer/passes/eliminate/eliminate_dead_nodes_test.cpp - a chain that nobody reads is removed, in bodies too; what
// a body captures stays.
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
  return RunVerified(kEliminateDeadNodes, graph, context);
}

TEST(EliminateDeadNodes, TakesOutAWholeChain) {
  const ops::Registry registry;
  Graph graph =
      PreparedGraph("g (float[2] x) => (float[2] y) { a = Abs(x) b = Neg(a) c = Exp(b) y = Neg(x) }", registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  EXPECT_EQ(ToText(graph), "g (float[2] x) => (float[2] y) {\n  y = Neg(x)\n}\n");
  ExpectSameValues(graph, before, registry, {Floats({-1, 2})});
}

TEST(EliminateDeadNodes, LeavesWhatABodyCaptures) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (bool c, float[2] x) => (float[2] y) {
  a = Abs(x)
  y = If (c) <then_branch = t () => (float[2] p) { dead = Exp(a) p = Neg(a) },
              else_branch = e () => (float[2] q) { q = Identity(x) }>
})",
                              registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry)) << "the dead node of the body";
  EXPECT_EQ(graph.order.size(), 2u) << ToText(graph);
  EXPECT_EQ(ToText(graph).find("Exp"), std::string::npos) << ToText(graph);
  ExpectSameValues(graph, before, registry, {Tensor::Of<bool>({true}, Shape{}), Floats({-1, 2})});
  EXPECT_FALSE(RunPass(graph, registry));
}

TEST(EliminateDeadNodes, SaysThatItDroppedAnOutputWithoutAName) {
  const ops::Registry registry;
  Graph graph =
      PreparedGraph("g (float[1,1,3,3] x) => (float[1,1,2,2] y) { y = MaxPool<kernel_shape = [2, 2]>(x) }", registry);
  graph.node(graph.order[0]).outputs.push_back(kNoValue);
  EXPECT_TRUE(RunPass(graph, registry));
  EXPECT_EQ(graph.node(graph.order[0]).outputs.size(), 1u);
  EXPECT_FALSE(RunPass(graph, registry));
}

TEST(EliminateDeadNodes, DropsOptionalOutputsThatNobodyReads) {
  const ops::Registry registry;
  const auto left = [&](const std::string& text, const std::vector<Value>& inputs) {
    Graph graph = PreparedGraph(text, registry);
    const Graph before = graph;
    RunPass(graph, registry);
    ExpectSameValues(graph, before, registry, inputs);
    std::string outputs;
    for (const ValueId output : graph.node(graph.order[0]).outputs)
      outputs += (outputs.empty() ? "" : ",") + (output == kNoValue ? "-" : graph.value(output).name);
    return outputs;
  };
  const Value image = Tensor::Of<float>({1, 5, 2, 7, 3, 4, 9, 8, 6}, Shape{1, 1, 3, 3});
  const std::string pool = "i = MaxPool<kernel_shape = [2, 2]>(x) y = Neg(p) ";
  EXPECT_EQ(left("g (float[1,1,3,3] x) => (float[1,1,2,2] y) { p, " + pool + "}", {image}), "p");
  EXPECT_EQ(left("g (float[1,1,3,3] x) => (float[1,1,2,2] y, int64[1,1,2,2] i) { p, " + pool + "}", {image}), "p,i");
  EXPECT_EQ(left("g (float[1,1,3,3] x) => (float[1,1,2,2] y) { p, " + pool + " k = Neg(i) }", {image}), "p");
  const Value steps = Tensor::Of<float>({1, 2, 3}, Shape{3, 1, 1});
  const std::string lstm = "all, h, c = LSTM<hidden_size = 1>(x, w, r) y = Neg(";
  const std::string head =
      "g (float[3,1,1] x) => (float[1,1,1] y) <float[1,4,1] w = {1, 2, 3, 4}, float[1,4,1] r = {1, 2, 3, 4}> {";
  EXPECT_EQ(left(head + lstm + "h) }", {steps}), "-,h");
  EXPECT_EQ(left(head + lstm + "c) }", {steps}), "-,-,c");
  // Outputs that are not optional stay.
  const Value row = Tensor::Of<float>({3, 1, 2}, Shape{3});
  EXPECT_EQ(left("g (float[3] x) => (int64[2] y) <int64[1] k = {2}> { v, i = TopK(x, k) y = Neg(i) }", {row}), "v,i");
  EXPECT_EQ(left("g (float[3] x) => (float[1] y) <int64[2] k = {1, 2}> { a, b = Split(x, k) y = Neg(a) }", {row}),
            "a,b");
}

}  // namespace
}  // namespace sardonyx::optimizer
