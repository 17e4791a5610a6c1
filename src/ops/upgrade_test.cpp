// ops/upgrade_test.cpp - a node that the newest version cannot express keeps its own version.
#include "ops/upgrade.h"

#include <gtest/gtest.h>

#include "ops/schema/schema.h"
#include "testing/evaluate_op.h"
#include "testing/prepared_graph.h"

namespace sardonyx::ops {
namespace {

using ::sardonyx::testing::Elements;
using ::sardonyx::testing::EvaluateOp;
using ::sardonyx::testing::Floats;

Graph Upgraded(int opset, const std::string& text, const Registry& registry) {
  Model model = ParseModel("<ir_version: 8, opset_import: [\"\": " + std::to_string(opset) + "]> " + text);
  ResolveVersions(model.graph, registry, model);
  Infer(model.graph, registry);
  Upgrade(model.graph, registry);
  return std::move(model.graph);
}

struct Case {
  int opset;
  std::string graph;
  int version;  // of its node after the upgrade
};

TEST(Upgrade, LeavesNodesThatTheirVersionsSchemaDescribes) {
  const std::string x = "g (float[2,3,4] x) => (y) ";
  const std::string norm = "g (float[2,3,4] x, float[3,4] e, float[3] s) => (y) ";
  const Case cases[] = {
      {11, x + "{ y = Softmax(x) }", 11},
      {12, x + "{ y = LogSoftmax<axis = -2>(x) }", 11},
      {1, x + "{ y = Hardmax<axis = 0>(x) }", 11},
      {11, x + "{ y = Softmax<axis = 2>(x) }", 13},
      {1, x + "{ y = Softmax<axis = -1>(x) }", 13},
      {13, x + "{ y = Softmax<axis = 1>(x) }", 13},
      {7, norm + "{ y = BatchNormalization<spatial = 0>(x, e, e, e, e) }", 7},
      {6, norm + "{ y = BatchNormalization<spatial = 0, is_test = 1>(x, e, e, e, e) }", 7},
      {7, norm + "{ y = BatchNormalization<spatial = 1>(x, s, s, s, s) }", 15},
      {9, norm + "{ y = BatchNormalization(x, s, s, s, s) }", 15},
      {9, "g (float[2,3,4] x, float[3] s) => (y, m, v, a, b) { y, m, v, a, b = BatchNormalization(x, s, s, s, s) }", 9},
      {7, "g (float[2] x) => (y, m) { y, m = Dropout<ratio = 0.3>(x) }", 7},
      {6, "g (float[2] x) => (y, m) { y, m = Dropout<is_test = 1>(x) }", 7},
      {7, "g (float[2] x) => (y) { y = Dropout<ratio = 0.3>(x) }", 22},
      {6, "g (float[2] x) => (y) { y = Dropout(x) }", 22},
      {10, "g (float[2] x) => (y, m) { y, m = Dropout<ratio = 0.3>(x) }", 22},
  };
  const Registry registry;
  for (const Case& c : cases) {
    SCOPED_TRACE(c.graph);
    const Graph graph = Upgraded(c.opset, c.graph, registry);
    const Node& node = graph.node(graph.order[0]);
    EXPECT_EQ(node.since_version, c.version);
    const OpSchema* schema = FindSchema("", node.op_type, node.since_version);
    for (const Attribute& attribute : node.attributes)
      EXPECT_NE(schema->FindAttribute(attribute.name), nullptr) << attribute.name;
    EXPECT_EQ(IsNewestSpelling(graph, node, registry), c.version > 11);
  }
}

// Statistics of each element of [2], not of the one channel.
TEST(Upgrade, InputsWithoutANameAreNotCountedAtTheEnd) {
  const Registry registry;
  const std::pair<std::string, std::size_t> cases[] = {{"LayerNormalization(x, s, \"\")", 2},
                                                       {"Clip(x, \"\", \"\")", 1},
                                                       {"Pad(x, p, \"\", \"\")", 2},
                                                       {"Clip(x, \"\", m)", 3}};
  for (const auto& [node, count] : cases) {
    SCOPED_TRACE(node);
    const Graph graph =
        Upgraded(18, "g (float[2,3] x, float[3] s, float m, int64[4] p) => (y) { y = " + node + " }", registry);
    EXPECT_EQ(graph.node(graph.order[0]).inputs.size(), count);
  }
}

TEST(Upgrade, BatchNormalizationOfElementsKeepsItsMeaning) {
  const Tensor x = Tensor::Of<float>({1, 2, 3, 4}, Shape{2, 1, 2});
  const auto each = [](float a, float b) { return Tensor::Of<float>({a, b}, Shape{1, 2}); };
  const std::vector<Attribute> attributes = {{"spatial", std::int64_t{0}}, {"epsilon", 0.0f}};
  EXPECT_EQ(Elements<float>(EvaluateOp(
                {"BatchNormalization", 7, {x, each(1, 10), each(0, 0), each(0, 0), each(1, 1)}, attributes})[0]),
            (std::vector<float>{1, 20, 3, 40}));
}

TEST(Upgrade, OldMasksHaveTheTypeOfTheData) {
  const auto y = EvaluateOp({.op = "Dropout", .version = 7, .inputs = {Floats({1, 2})}, .outputs = 2});
  EXPECT_EQ(Elements<float>(y[1]), (std::vector<float>{1, 1}));
  const auto later = EvaluateOp({.op = "Dropout", .version = 10, .inputs = {Floats({1, 2})}, .outputs = 2});
  EXPECT_EQ(Elements<bool>(later[1]), (std::vector<bool>{true, true}));
}

TEST(Upgrade, AVersionMeansTheSameOnlyIfItsRowReadsTheNodeAsItStands) {
  const Registry registry;
  const std::string x = "g (float[2,3,4] x) => (y) ";
  Graph last = Upgraded(13, x + "{ y = Softmax<axis = 2>(x) }", registry);
  EXPECT_TRUE(MeansTheSame(last, last.node(last.order[0]), 11, registry));
  Graph middle = Upgraded(13, x + "{ y = Softmax<axis = 1>(x) }", registry);
  EXPECT_FALSE(MeansTheSame(middle, middle.node(middle.order[0]), 11, registry));
  Graph flat = Upgraded(11, x + "{ y = Softmax<axis = 1>(x) }", registry);
  EXPECT_TRUE(MeansTheSame(flat, flat.node(flat.order[0]), 1, registry));
  EXPECT_FALSE(MeansTheSame(flat, flat.node(flat.order[0]), 13, registry));
  EXPECT_EQ(flat.node(flat.order[0]).since_version, 11);
  Graph masked = Upgraded(7, "g (float[2] x) => (y, m) { y, m = Dropout(x) }", registry);
  EXPECT_FALSE(MeansTheSame(masked, masked.node(masked.order[0]), 6, registry));  // it would train
}

}  // namespace
}  // namespace sardonyx::ops
