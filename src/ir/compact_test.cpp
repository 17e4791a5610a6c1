// ir/compact_test.cpp - compacting keeps the meaning of a graph; comparing models finds every difference.
#include "ir/compact.h"

#include <gtest/gtest.h>

#include <functional>

#include "ir/equal.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace sardonyx {
namespace {

constexpr const char* kText = R"(<ir_version: 10, opset_import: ["" : 21]>
g (float[N] x, bool c) => (float[N] y) <float[2] w = {1, 2}, float[1] unused = {3}> {
  gone = Neg(x)
  a = Add(x, w)
  y = If<then_branch = t () => (float[N] o) { dead = Exp(a) o = Mul(a, w) }, else_branch = e () => (float[N] o) { o = Cos(x) }>(c)
})";

NodeId FindNode(const Graph& graph, std::string_view op_type) {
  for (const NodeId id : graph.order)
    if (graph.node(id).op_type == op_type) return id;
  return kNoNode;
}

TEST(Compacted, SaysTheSameWithoutWhatNobodyUses) {
  Model model = ParseModel(kText);
  Graph& graph = model.graph;
  const NodeId choice = FindNode(graph, "If");
  Graph& body = *graph.node(choice).Subgraphs()[0];
  body.EraseNode(FindNode(body, "Exp"));
  graph.EraseNode(FindNode(graph, "Neg"));
  Model want = model;
  model.graph = Compacted(std::move(model.graph));
  Verify(model.graph);
  EXPECT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.values.size(), 5u) << "x, c, w, a, y";
  EXPECT_FALSE(graph.Find("gone"));
  EXPECT_FALSE(graph.Find("unused"));
  want.graph.SetInitializer(*want.graph.Find("unused"), nullptr);  // as text it would still be listed
  EXPECT_EQ(ToText(model.graph), ToText(want.graph));
  EXPECT_EQ(graph.node(1).Subgraphs()[0]->nodes.size(), 1u);
}

TEST(Compacted, LeavesACompactGraphAsItIs) {
  Model model = ParseModel(kText);
  model.graph = Compacted(std::move(model.graph));
  Model again = model;
  again.graph = Compacted(std::move(again.graph));
  EXPECT_TRUE(Same(model, again));
}

TEST(SameModel, AModelIsItsCopyAndDiffersFromEveryChangedOne) {
  const Model model = ParseModel(kText);
  EXPECT_TRUE(Same(model, ParseModel(kText)));
  const std::function<void(Model&)> changes[] = {
      [](Model& m) { m.path = "elsewhere"; },
      [](Model& m) { m.doc = "doc"; },
      [](Model& m) { m.metadata.emplace_back("key", "value"); },
      [](Model& m) { m.opset_imports[0].version = 20; },
      [](Model& m) { m.graph.name = "h"; },
      [](Model& m) { m.graph.Rename(*m.graph.Find("a"), "b"); },
      [](Model& m) { m.graph.value(*m.graph.Find("x")).type = Type::TensorOf(DType::kDouble); },
      [](Model& m) { m.graph.node(FindNode(m.graph, "Neg")).op_type = "Abs"; },
      [](Model& m) { m.graph.node(FindNode(m.graph, "Neg")).SetAttribute("k", 1.0f); },
      [](Model& m) { m.graph.EraseNode(FindNode(m.graph, "Neg")); },
      [](Model& m) { m.functions.emplace_back(); },
      [](Model& m) {
        auto other = std::make_shared<Initializer>(*m.graph.value(*m.graph.Find("w")).initializer);
        other->tensor = Tensor::Of<float>({1, -2}, Shape{2});
        m.graph.SetInitializer(*m.graph.Find("w"), other);
      },
      [](Model& m) {
        Graph& body = *m.graph.node(FindNode(m.graph, "If")).Subgraphs()[1];
        body.node(body.order[0]).op_type = "Sin";
      }};
  for (const auto& change : changes) {
    Model changed = model;
    change(changed);
    EXPECT_FALSE(Same(model, changed)) << "change " << &change - changes;
  }
}

TEST(SameModel, NumbersAreComparedByTheirBits) {
  const auto with = [](float number) {
    Model model = ParseModel(kText);
    model.graph.node(0).SetAttribute("k", std::vector<float>{number});
    return model;
  };
  EXPECT_TRUE(Same(with(std::nanf("")), with(std::nanf(""))));
  EXPECT_FALSE(Same(with(0.0f), with(-0.0f)));
}

}  // namespace
}  // namespace sardonyx
