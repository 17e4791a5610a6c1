// optimizer/passes/fuse/fuse_conv_batch_norm_test.cpp - BatchNormalization is folded into the Conv before it, unless
// the Conv has other readers.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"
#include "testing/prepared_graph.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::PreparedGraph;

std::string ConvAndNorm(std::string_view outputs) {
  return "g (float[1,1,3] x) => (" + std::string(outputs) + R"()
<float[2,1,2] w = {1, 2, 3, 4}, float[2] scale = {2, 3}, float[2] shift = {0.5, -1}, float[2] mean = {1, -2},
 float[2] variance = {4, 0.25}> {
  c = Conv(x, w)
  y = BatchNormalization<epsilon = 0.01>(c, scale, shift, mean, variance)
})";
}

bool RunPass(Graph& graph, const ops::Registry& registry) {
  PassContext context{registry};
  return RunVerified(kFuseConvBatchNorm, graph, context);
}

TEST(FuseConvBatchNorm, GoesIntoWeightsAndBias) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(ConvAndNorm("float[1,2,2] y"), registry);
  const Graph before = graph;
  EXPECT_TRUE(RunPass(graph, registry));
  ASSERT_EQ(graph.order.size(), 1u);
  const Node& conv = graph.node(graph.order[0]);
  EXPECT_EQ(conv.op_type, "Conv");
  EXPECT_EQ(conv.inputs.size(), 3u);
  EXPECT_EQ(graph.value(conv.outputs[0]).name, "y");
  ExpectSameValues(graph, before, registry, {Tensor::Of<float>({1, -2, 3}, Shape{1, 1, 3})});
}

TEST(FuseConvBatchNorm, LeavesAConvWithAnotherReaderAlone) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(ConvAndNorm("float[1,2,2] y, float[1,2,2] c"), registry);
  const std::string before = ToText(graph);
  EXPECT_FALSE(RunPass(graph, registry));
  EXPECT_EQ(ToText(graph), before);
}

}  // namespace
}  // namespace sardonyx::optimizer
