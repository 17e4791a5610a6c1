// optimizer/pipeline_test.cpp - what only several passes in their order achieve, and the checks of the pipeline.
#include "optimizer/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "optimizer/rules/rewrite.h"
#include "testing/pass_test.h"

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
      EXPECT_NE(std::string(error.what()).find("pass broken left an invalid graph: "), std::string::npos)
          << error.what();
    }
  }
}

// Passes that change something and say that they did not: an operator, an attribute, a constant, a body.
bool ExchangesAnOperator(Graph& graph, PassContext& /*context*/) {
  graph.node(graph.order[0]).op_type = "Abs";
  return false;
}
bool SetsAnAttribute(Graph& graph, PassContext& /*context*/) {
  graph.node(graph.order[1]).SetAttribute("axis", std::int64_t{0});
  return false;
}
bool ExchangesAConstant(Graph& graph, PassContext& /*context*/) {
  auto other = std::make_shared<Initializer>(*graph.value(*graph.Find("c")).initializer);
  other->tensor = Tensor::Of<float>({1, 3}, Shape{2});
  graph.SetInitializer(*graph.Find("c"), std::move(other));
  return false;
}
bool ChangesABody(Graph& graph, PassContext& /*context*/) {
  Graph& body = *graph.node(graph.order.back()).Subgraphs()[0];
  body.node(body.order[0]).op_type = "Abs";
  return false;
}
// Two that leave the graph as it was, and may say so.
bool CopiesAConstant(Graph& graph, PassContext& /*context*/) {
  auto other = std::make_shared<Initializer>(*graph.value(*graph.Find("c")).initializer);
  other->tensor = Tensor::Of<float>({1, 2}, Shape{2});
  graph.SetInitializer(*graph.Find("c"), std::move(other));
  return false;
}
bool TakesBackWhatItDid(Graph& graph, PassContext& context) {
  Rewrite rewrite(graph, context.registry, graph.order[0]);
  rewrite.DropUnused(rewrite.Add("Neg", {graph.inputs[0]}));
  return false;
}

TEST(Optimize, CatchesAPassThatDoesNotSayWhatItDid) {
  const ops::Registry registry;
  const Graph before = PreparedGraph(
      "g (float[2] x, bool b) => (float[2] y) <float[2] c = {1, 2}> { a = Neg(x) s = Softmax<axis = -1>(a) t = Add(s, "
      "c) y = If (b) <then_branch = u () => (float[2] p) { p = Exp(t) }, else_branch = v () => (float[2] q) { q = "
      "Neg(t) }> }",
      registry);
  for (const auto& run :
       {ExchangesAnOperator, SetsAnAttribute, ExchangesAConstant, ChangesABody, CopiesAConstant, TakesBackWhatItDid}) {
    const Pass silent = {.name = "silent", .level = Level::kBasic, .run = run};
    Graph graph = before;
    PassContext context{registry};
    context.checks_reports = true;
    std::string complaint;
    try {
      RunVerified(silent, graph, context);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kInvalidGraph);
      complaint = error.what();
    }
    const bool is_right = run == TakesBackWhatItDid || run == CopiesAConstant;
    EXPECT_EQ(complaint, is_right ? "" : "pass silent changed the graph but says that it did not");
  }
}

TEST(Optimize, RunsOnceOrUntilNothingChangesOnDemand) {
  const ops::Registry registry;
  for (const auto& [repeats, split] : {std::pair(Repeats::kOnce, true), std::pair(Repeats::kAsNeeded, false),
                                       std::pair(Repeats::kUntilStable, false)}) {
    Graph graph = PreparedGraph(
        "g (float[4] x) => (float[2] y) <int64[2] halves = {2, 2}> {"
        " a, b = Split<axis = 0>(x, halves) c = Neg(b) y = Exp(a) }",
        registry);
    Optimize(graph, Stage::kBeforeUpgrade, registry, {.level = Level::kBasic, .repeats = repeats});
    EXPECT_EQ(ToText(graph).find("Split") != std::string::npos, split) << ToText(graph);
  }
}

// Two spellings of Gelu are one value only once both are fused; then its parts, side by side, are the whole.
TEST(Optimize, JoinsPartsOfWhatBecameEqual) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(R"(g (float[4] x) => (float[4] y)
<float half = {0.5}, float one = {1}, float root = {1.41421356}, float other = {0.70710678},
 int64[1] i0 = {0}, int64[1] i2 = {2}, int64[1] i4 = {4}> {
  q = Div(x, root) e = Erf(q) p = Add(e, one) m = Mul(x, p) first = Mul(m, half)
  h = Mul(x, half) q2 = Mul(x, other) e2 = Erf(q2) p2 = Add(one, e2) second = Mul(h, p2)
  a = Slice(first, i0, i2, i0) b = Slice(second, i2, i4, i0)
  c = Concat<axis = 0>(a, b) y = Sin(c)
})",
                              registry);
  testing::RunPipeline(graph, registry, {});
  const std::string text = ToText(graph);
  EXPECT_NE(text.find("Gelu"), std::string::npos) << text;
  EXPECT_EQ(text.find("Slice"), std::string::npos) << text;
  EXPECT_EQ(text.find("Concat"), std::string::npos) << text;
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
