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

}  // namespace
}  // namespace sardonyx::optimizer
