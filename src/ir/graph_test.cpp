// ir/graph_test.cpp - edits keep a graph consistent, and inconsistencies are reported by name.
#include "ir/graph.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.h"
#include "ir/replace_uses.h"
#include "ir/verify.h"

namespace sardonyx {
namespace {

const Type kVector = Type::TensorOf(DType::kFloat, std::vector<Dim>{Dim::Symbol("N")});

std::string FailureOf(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no failure";
}

std::string Producers(const Graph& graph) {
  std::string text;
  for (const NodeId id : graph.order) text += graph.node(id).op_type + " ";
  return text;
}

// if (c) { inner: if (c2) { y = Neg(x) } } with x, c, c2 in the main graph.
Graph Nested() {
  Graph innermost;
  innermost.name = "innermost";
  const ValueId x = innermost.AddCaptured("x");
  innermost.AddOutput(innermost.AddNode("", "Neg", {x}, {}, kVector, "y"));

  Graph middle;
  middle.name = "middle";
  const ValueId c2 = middle.AddCaptured("c2");
  middle.AddOutput(middle.AddNode("", "If", {c2}, {{"then_branch", GraphBox(std::move(innermost))}}, kVector, "m"));

  Graph graph;
  graph.name = "main";
  graph.AddInput("x", kVector);
  graph.AddInput("c2", kVector);
  const ValueId c = graph.AddInput("c", kVector);
  graph.AddOutput(graph.AddNode("", "If", {c}, {{"then_branch", GraphBox(std::move(middle))}}, kVector, "out"));
  return graph;
}

TEST(Graph, AValueCapturedTwoLevelsDownIsCapturedInEachGraphBetween) {
  Graph graph = Nested();
  Verify(graph);
  const Node& outer_if = graph.node(0);
  ASSERT_EQ(outer_if.implicit_inputs.size(), 2u);
  EXPECT_EQ(graph.value(*graph.Find("x")).consumers, std::vector<NodeId>{0});
  const Graph& middle = *outer_if.Subgraphs().front();
  EXPECT_TRUE(middle.value(*middle.Find("x")).is_captured);
  EXPECT_EQ(middle.node(0).implicit_inputs, std::vector<ValueId>{*middle.Find("x")});
}

TEST(Graph, RenamingAndReplacingReachIntoSubgraphs) {
  Graph graph = Nested();
  graph.Rename(*graph.Find("x"), "renamed");
  Verify(graph);
  const auto innermost = [&]() -> Graph& { return *graph.node(0).Subgraphs()[0]->node(0).Subgraphs()[0]; };
  EXPECT_TRUE(innermost().Find("renamed"));
  EXPECT_FALSE(innermost().Find("x"));

  const ValueId twice = graph.AddInput("y", kVector);  // the name of a value inside: that one gives way
  graph.ReplaceUses(*graph.Find("renamed"), twice);
  Verify(graph);
  EXPECT_TRUE(graph.value(*graph.Find("renamed")).consumers.empty());
  EXPECT_EQ(graph.value(twice).consumers, std::vector<NodeId>{0});
  EXPECT_TRUE(innermost().value(*innermost().Find("y")).is_captured);

  graph.ReplaceUses(twice, *graph.Find("c2"));  // captured in the middle graph already
  Verify(graph);
  EXPECT_EQ(graph.node(0).implicit_inputs, std::vector<ValueId>{*graph.Find("c2")});
}

TEST(Graph, ManyUsesAreReplacedAtOnce) {
  Graph graph;
  const ValueId x = graph.AddInput("x", kVector), y = graph.AddInput("y", kVector), z = graph.AddInput("z", kVector);
  const ValueId sum = graph.AddNode("", "Sum", {x, y, x, z, kNoValue}, {});
  graph.AddNode("", "Add", {z, y}, {});
  graph.AddOutput(sum);
  const std::pair<ValueId, ValueId> replaced[] = {{x, z}, {y, z}};
  ReplaceUses(graph, replaced);
  Verify(graph);
  EXPECT_EQ(graph.node(0).inputs, (std::vector<ValueId>{z, z, z, z, kNoValue}));
  EXPECT_EQ(graph.node(1).inputs, (std::vector<ValueId>{z, z}));
  EXPECT_TRUE(graph.value(x).consumers.empty() && graph.value(y).consumers.empty());

  Graph nested = Nested();
  const ValueId captured = *nested.Find("x"), other = nested.AddInput("y", kVector);
  const std::pair<ValueId, ValueId> in_subgraphs[] = {{captured, other}};
  ReplaceUses(nested, in_subgraphs);
  Verify(nested);
  EXPECT_EQ(nested.value(other).consumers, std::vector<NodeId>{0});
}

TEST(Graph, ACopyIsIndependentAndConsistent) {
  Graph graph = Nested();
  const Graph copy = graph;
  graph.Rename(*graph.Find("x"), "z");
  Verify(copy);
  EXPECT_TRUE(copy.node(0).Subgraphs()[0]->Find("x"));
}

TEST(Graph, UsesAreCountedWithMultiplicity) {
  Graph graph;
  const ValueId x = graph.AddInput("x", kVector);
  const ValueId y = graph.AddNode("", "Mul", {x, x}, {}, kVector, "y");
  graph.AddOutput(y);
  EXPECT_EQ(graph.UseCount(x), 2u);
  EXPECT_EQ(graph.UseCount(y), 1u);
  graph.SetInput(0, 1, y);
  EXPECT_EQ(graph.UseCount(x), 1u);
  graph.SetInput(0, 1, kNoValue);
  EXPECT_EQ(graph.UseCount(y), 1u);
  graph.SetInput(0, 3, x);
  EXPECT_EQ(graph.node(0).inputs, (std::vector<ValueId>{x, kNoValue, kNoValue, x}));
  Verify(graph);
}

TEST(Graph, MoveOutputTakesTheValueFromItsProducer) {
  Graph graph;
  const ValueId x = graph.AddInput("x", kVector);
  const ValueId y = graph.AddNode("", "Relu", {x}, {}, kVector, "y");
  graph.AddOutput(y);
  const ValueId z = graph.AddNode("", "Neg", {x}, {}, kVector, "z");
  graph.MoveOutput(1, 0, y);
  EXPECT_EQ(graph.value(y).producer, 1u);
  EXPECT_EQ(graph.value(z).producer, kNoNode);
  EXPECT_EQ(graph.node(0).outputs, std::vector<ValueId>{kNoValue});
  graph.EraseNode(0);
  Verify(graph);
  EXPECT_EQ(Producers(graph), "Neg ");
}

TEST(Graph, ErasingInAnyOrderKeepsTheOthers) {
  for (const bool bulk : {false, true}) {
    Graph graph;
    const ValueId x = graph.AddInput("x", kVector);
    ValueId last = x;
    for (int i = 0; i < 20; ++i) last = graph.AddNode("", i % 2 ? "Odd" : "Even", {x}, {}, kVector);
    graph.AddOutput(last);
    const std::vector<NodeId> erased = {4, 0, 18, 2, 16, 6, 14, 8, 12, 10};
    if (bulk) graph.EraseNodes(erased);
    for (const NodeId id : erased) graph.EraseNode(id);
    Verify(graph);
    EXPECT_EQ(graph.order.size(), 10u);
    EXPECT_EQ(graph.value(x).consumers.size(), 10u);
    EXPECT_EQ(graph.order, graph.value(x).consumers);
  }
}

TEST(Graph, ErasingFindsReadersAndNodesThatAreNotSorted) {
  for (const bool bulk : {false, true}) {
    Graph graph;
    const ValueId x = graph.AddInput("x", kVector), y = graph.AddInput("y", kVector);
    for (int i = 0; i < 6; ++i) graph.AddNode("", "Add", {y, i % 2 ? x : y}, {}, kVector);
    for (const NodeId id : {5, 0, 3}) graph.SetInput(id, 0, x);
    std::swap(graph.order[1], graph.order[4]);
    EXPECT_EQ(graph.value(x).consumers, (std::vector<NodeId>{1, 3, 5, 5, 0, 3}));
    const std::vector<NodeId> erased = {3, 4};
    if (bulk) graph.EraseNodes(erased);
    for (const NodeId id : erased) graph.EraseNode(id);
    EXPECT_EQ(graph.value(x).consumers, (std::vector<NodeId>{1, 5, 5, 0}));
    EXPECT_EQ(graph.value(y).consumers, (std::vector<NodeId>{0, 1, 2, 2}));
    EXPECT_EQ(graph.order, (std::vector<NodeId>{0, 2, 1, 5}));
  }
}

TEST(Graph, LargeFanOutsAreErasedInReasonableTime) {
  Graph graph;
  const ValueId x = graph.AddInput("x", kVector);
  for (int i = 0; i < 50000; ++i) graph.AddNode("", "Neg", {x}, {}, kVector, "y");
  for (NodeId id = 0; id < 50000; ++id) graph.EraseNode(id);
  EXPECT_TRUE(graph.order.empty());
  EXPECT_EQ(graph.UseCount(x), 0u);
}

TEST(Graph, SortingIsStableAndNamesTheNodesOfACycle) {
  Graph graph;
  const ValueId x = graph.AddInput("x", kVector);
  const ValueId a = graph.AddValue("a"), b = graph.AddValue("b");
  const auto add = [&](const char* op, std::vector<ValueId> in, std::vector<ValueId> out) {
    Node node;
    node.op_type = op;
    node.inputs = std::move(in);
    node.outputs = std::move(out);
    return graph.AddNode(std::move(node));
  };
  add("Second", {a}, {b});
  const NodeId first = add("First", {x}, {a});
  add("Third", {x}, {});
  graph.AddOutput(b);
  EXPECT_NE(FailureOf([&] { Verify(graph); }).find("found 'a' made later by node #1 (First, output 'a')"),
            std::string::npos);
  graph.SortTopologically();
  Verify(graph);
  EXPECT_EQ(Producers(graph), "First Second Third ");
  graph.SetInput(first, 0, b);
  EXPECT_EQ(
      FailureOf([&] { graph.SortTopologically(); }),
      "expected a graph without cycles, found a cycle of 2 nodes: node #0 (Second, output 'b') <- node #1 (First, "
      "output 'a')");
}

TEST(Graph, NamesAreUnique) {
  Graph graph;
  graph.AddInput("x", kVector);
  EXPECT_EQ(FailureOf([&] { graph.AddValue("x"); }), "expected a new name for a value, found 'x' twice");
  const ValueId y = graph.AddValue("y");
  EXPECT_EQ(FailureOf([&] { graph.Rename(y, "x"); }), "expected a new name for value 'y', found 'x'");
  EXPECT_NE(graph.FreshName("x"), "x");
  EXPECT_EQ(graph.FreshName("free"), "free");
  const ValueId c = graph.AddConstant("x", Tensor::Of<float>({1, 2}, Shape{2}));
  EXPECT_NE(graph.value(c).name, "x");
  EXPECT_EQ(graph.value(c).type.ToText(), "float[2]");
  ASSERT_NE(graph.value(c).constant(), nullptr);
}

TEST(Verify, NamesWhatIsNotDefinedAndSuggests) {
  Graph graph;
  graph.AddInput("hidden_state", kVector);
  const ValueId x = graph.AddValue("hidden_stat");
  graph.AddOutput(graph.AddNode("", "Relu", {x}, {}, kVector, "y"));
  EXPECT_EQ(FailureOf([&] { Verify(graph); }),
            "node 'y' (Relu): expected 'hidden_stat' to be defined, found no node, input or initializer of this name; "
            "did you mean 'hidden_state'?");
}

TEST(Verify, FindsConsumersThatAreNoUses) {
  Graph graph;
  const ValueId x = graph.AddInput("x", kVector);
  graph.AddOutput(graph.AddNode("", "Relu", {x}, {}, kVector, "y"));
  graph.value(x).consumers.push_back(0);
  EXPECT_EQ(FailureOf([&] { Verify(graph); }),
            "value 'x': expected each use once among its consumers, found node 0 too often");
}

TEST(Verify, FindsACaptureThatNothingDefines) {
  Graph body;
  body.AddOutput(body.AddNode("", "Neg", {body.AddCaptured("nowhere")}, {}, kVector, "y"));
  Graph graph;
  graph.name = "g";
  const ValueId c = graph.AddInput("c", kVector);
  graph.AddOutput(graph.AddNode("", "If", {c}, {{"then_branch", GraphBox(std::move(body))}}, kVector, "out"));
  EXPECT_EQ(FailureOf([&] { Verify(graph); }),
            "node 'out' (If): expected 'nowhere' to be defined, found no node, input or initializer of this name");
}

TEST(AddNode, RefusesOutputsThatAreMadeElsewhere) {
  Graph graph;
  const ValueId x = graph.AddInput("x", kVector);
  Node node;
  node.op_type = "Relu";
  node.outputs = {x};
  EXPECT_EQ(FailureOf([&] { graph.AddNode(node); }),
            "node #0 (Relu, output 'x'): expected outputs that nothing else defines, found 'x'");
}

TEST(Attributes, HaveTheTypeNumbersOfOnnx) {
  EXPECT_EQ(AttributeTypeOf(AttributeValue(1.0f)), 1);
  EXPECT_EQ(AttributeTypeOf(AttributeValue(std::vector<std::int64_t>{})), 7);
  EXPECT_EQ(AttributeTypeOf(AttributeValue(std::vector<GraphBox>{})), 10);
  EXPECT_EQ(AttributeTypeOf(AttributeValue(SparseTensor{})), 11);
  EXPECT_EQ(AttributeTypeOf(AttributeValue(std::vector<SparseTensor>{})), 12);
  EXPECT_EQ(AttributeTypeOf(AttributeValue(Type{})), 13);
  EXPECT_EQ(AttributeTypeOf(AttributeValue(AttributeReference{"a", 5})), 5);
  EXPECT_EQ(AttributeTypeName(14), "type_protos");
  EXPECT_EQ(AttributeTypeName(0), "undefined");
}

TEST(ClosestName, SuggestsOnlyWhatIsClose) {
  EXPECT_EQ(ClosestName("input_id", {"attention_mask", "input_ids"}), "input_ids");
  EXPECT_EQ(ClosestName("Rleu", {"Add", "Relu", "Elu"}), "Relu");  // a swap is one slip
  EXPECT_EQ(ClosestName("x", {"attention_mask", "input_ids"}), "");
  EXPECT_EQ(ClosestName("", {}), "");
}

}  // namespace
}  // namespace sardonyx
