// ops/errors/late_errors_test.cpp - inference postpones a node whose error a run gives, and refuses other wrong nodes.
#include "ops/errors/late_errors.h"

#include <gtest/gtest.h>

#include "testing/prepared_graph.h"

namespace sardonyx::ops {
namespace {

using ::sardonyx::testing::PreparedGraph;

constexpr const char* kWrongReshape =
    "g (float[3,2] x) => (float[a,b] y) <int64[2] s = {4, 4}> { r = Reshape (x, s) y = Relu (r) }";

TEST(LateErrors, OnlyTheElementTypeOfAPostponedNodesOutputIsKnown) {
  const Graph graph = PreparedGraph(kWrongReshape, Registry());
  const Node& node = graph.node(graph.order[0]);
  EXPECT_TRUE(IsPostponed(node));
  EXPECT_EQ(graph.value(node.outputs[0]).type.ToText(), Type::TensorOf(DType::kFloat).ToText());
  EXPECT_FALSE(IsPostponed(graph.node(graph.order[1])));
}

TEST(LateErrors, InferenceLeavesAPostponedNodeAlone) {
  const Registry registry;
  Graph graph = PreparedGraph(kWrongReshape, registry);
  Infer(graph, registry);
  EXPECT_EQ(graph.node(graph.order[0]).domain, std::string(kPostponedPrefix));
}

TEST(LateErrors, RestoringGivesTheAuthorsNode) {
  Graph graph = PreparedGraph(kWrongReshape, Registry());
  RestorePostponed(graph);
  const Node& node = graph.node(graph.order[0]);
  EXPECT_EQ(node.domain, "");
  EXPECT_TRUE(node.attributes.empty());
  EXPECT_FALSE(IsPostponed(node));
}

TEST(LateErrors, OtherErrorsOfTheOperatorAreGivenAtOnce) {
  EXPECT_THROW(PreparedGraph("g (float[3,2] x) => (y) <int64[2] s = {-1, -1}> { y = Reshape (x, s) }", Registry()),
               Error);
}

}  // namespace
}  // namespace sardonyx::ops
