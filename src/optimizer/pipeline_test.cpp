// optimizer/pipeline_test.cpp - what only the order of the passes brings about.
#include "optimizer/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::PreparedGraph;

// An embedding that is also the last weight: x [1, K] times the transposition of w [N, K].
Graph TiedEmbedding(const ops::Registry& registry, std::int64_t n, std::int64_t k) {
  const std::string shape = std::to_string(n) + "," + std::to_string(k);
  Graph graph = PreparedGraph("g (int64[1] i, float[" + shape + "] w) => (float[1," + std::to_string(n) + R"(] y) {
  x = Gather(w, i)
  t = Transpose<perm = [1, 0]>(w)
  y = MatMul(x, t)
})",
                              registry);
  const ValueId w = *graph.Find("w");
  graph.inputs.erase(std::find(graph.inputs.begin(), graph.inputs.end(), w));
  graph.value(w).is_input = false;
  auto weights = std::make_shared<Initializer>();
  weights->tensor = Tensor(DType::kFloat, Shape{n, k});
  graph.SetInitializer(w, std::move(weights));
  return graph;
}

std::string OptimizedText(Graph graph, const ops::Registry& registry, const OptimizeOptions& options) {
  for (const Stage stage : {Stage::kBeforeUpgrade, Stage::kAfterUpgrade}) Optimize(graph, stage, registry, options);
  return ToText(graph, {.max_elements = 4});
}

TEST(Optimize, KeepsOneCopyOfALargeWeightThatIsReadBothWays) {
  const ops::Registry registry;
  const std::string text = OptimizedText(TiedEmbedding(registry, 4096, 2048), registry, {});
  EXPECT_NE(text.find("transB = 1"), std::string::npos) << text;
  EXPECT_EQ(text.find("float[2048,4096]"), std::string::npos) << text;
}

TEST(Optimize, FoldsTranspositionsThatNoPassWouldTake) {
  const ops::Registry registry;
  const OptimizeOptions without = {.disabled_passes = {"fuse_matmul_transpose"}};
  for (const auto& [n, options] :
       {std::pair(std::int64_t{8}, OptimizeOptions()), std::pair(std::int64_t{4096}, without)})
    EXPECT_EQ(OptimizedText(TiedEmbedding(registry, n, 2048), registry, options).find("Transpose"), std::string::npos);
}

// A pass that breaks the graph: a node reads a value that says nothing of it.
bool ReadsWithoutSaying(Graph& graph, PassContext& /*context*/) {
  graph.node(graph.order.back()).inputs[0] = graph.inputs[1];
  return true;
}
// One that leaves the output without a producer.
bool TakesTheOutputAway(Graph& graph, PassContext& /*context*/) {
  graph.order.pop_back();
  return true;
}

TEST(Optimize, CatchesAPassThatBreaksTheGraph) {
  const ops::Registry registry;
  for (const auto& run : {ReadsWithoutSaying, TakesTheOutputAway}) {
    const Pass broken = {.name = "broken", .level = Level::kBasic, .run = run};
    Graph graph = PreparedGraph("g (float[2] x, float[2] z) => (float[2] y) { a = Neg(x) y = Exp(a) }", registry);
    PassContext context{registry};
    try {
      RunVerified(broken, graph, context);
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidGraph);
      EXPECT_NE(std::string(error.what()).find("pass broken left a graph that is not sound: "), std::string::npos)
          << error.what();
    }
  }
}

TEST(Optimize, TheBasicLevelIsStable) {
  const ops::Registry registry;
  // Only once the dead reader of its second part is gone is the Split a Slice.
  Graph graph = PreparedGraph(
      "g (float[4] x) => (float[2] y) <int64[2] halves = {2, 2}> {"
      " a, b = Split<axis = 0>(x, halves) c = Neg(b) y = Exp(a) }",
      registry);
  const OptimizeOptions basic = {.level = Level::kBasic};
  Optimize(graph, Stage::kBeforeUpgrade, registry, basic);
  const std::string once = ToText(graph);
  EXPECT_EQ(once.find("Split"), std::string::npos) << once;
  Optimize(graph, Stage::kBeforeUpgrade, registry, basic);
  EXPECT_EQ(ToText(graph), once);
}

}  // namespace
}  // namespace sardonyx::optimizer
