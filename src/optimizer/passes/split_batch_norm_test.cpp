// optimizer/passes/split_batch_norm_test.cpp - BatchNormalization as product and sum, and where it stays.
#include "ops/upgrade.h"
#include "optimizer/passes.h"
#include "testing/prepared_graph.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;
using ::sardonyx::testing::RandomTensors;

std::string Split(std::string_view body, std::string_view outputs, int opset = 15) {
  const ops::Registry registry;
  Model model;
  model.graph = ParseGraph("g (float[2,3,4] x, float[3] given) => (" + std::string(outputs) +
                           ") <float[3] scale = {2, 3, -1}, float[3] shift = {0.5, -1, 0}, float[3] mean = {1, -2, 0},"
                           "float[3] variance = {4, 0.25, 1}> {" +
                           std::string(body) + "}");
  model.graph.opset_imports = {{"", opset}};
  ops::ResolveVersions(model.graph, registry, model);
  ops::Infer(model.graph, registry);
  Graph graph = std::move(model.graph);
  ops::Upgrade(graph, registry);
  const Graph before = graph;
  PassContext context{registry};
  kSplitBatchNorm.run(graph, context);
  RandomTensors random;
  ExpectSameValues(graph, before, registry,
                   {random.Uniform(DType::kFloat, Shape{2, 3, 4}), random.Uniform(DType::kFloat, Shape{3}, 0.5, 1)});
  std::string names;
  for (const NodeId id : graph.order) names += (names.empty() ? "" : " ") + graph.node(id).op_type;
  return names;
}

TEST(SplitBatchNorm, BecomesAProductAndASum) {
  EXPECT_EQ(Split("y = BatchNormalization<epsilon = 0.01>(x, scale, shift, mean, variance)", "float[2,3,4] y"),
            "Mul Add");
  EXPECT_EQ(Split("y = BatchNormalization(x, scale, shift, mean, variance)", "float[2,3,4] y", 9), "Mul Add");
}

TEST(SplitBatchNorm, LeavesTrainingAndGivenStatisticsAlone) {
  EXPECT_EQ(Split("y = BatchNormalization(x, scale, shift, mean, given)", "float[2,3,4] y"), "BatchNormalization");
  EXPECT_EQ(Split("y, m, v = BatchNormalization<training_mode = 1>(x, scale, shift, mean, variance)",
                  "float[2,3,4] y, float[3] m, float[3] v"),
            "BatchNormalization");
}

}  // namespace
}  // namespace sardonyx::optimizer
