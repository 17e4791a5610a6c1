// ops/cost_test.cpp - operations and bytes of nodes whose numbers are known by hand.
#include "ops/cost.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

// The cost of the only node of a graph whose types are all written out.
Cost CostOfNode(const std::string& text) {
  static const Registry registry;
  const Graph graph = ParseGraph(text);
  const Node& node = graph.node(graph.order[0]);
  std::vector<Shape> shapes;
  std::vector<TensorRef> inputs, outputs;
  shapes.reserve(node.inputs.size() + node.outputs.size());
  const auto add = [&](ValueId id, std::vector<TensorRef>& list) {
    if (id == kNoValue) return list.push_back({});
    const Type& type = graph.value(id).type;
    shapes.push_back(type.StaticShape());
    list.push_back({type.dtype, nullptr, shapes.back(), ElementCount(shapes.back())});
  };
  for (const ValueId id : node.inputs) add(id, inputs);
  for (const ValueId id : node.outputs) add(id, outputs);
  const OpDef* op = nullptr;
  for (int version = 30; version > 0 && op == nullptr; --version)
    op = registry.Find(node.domain, node.op_type, version);
  return CostOf(node, op, inputs, outputs);
}

TEST(Cost, CountsTwoOperationsForEachMultiplyAndAdd) {
  const Cost matmul = CostOfNode("g (float[2,3,4] a, float[4,5] b) => (float[2,3,5] y) { y = MatMul(a, b) }");
  EXPECT_EQ(matmul.operations, 2 * 2 * 3 * 4 * 5);
  EXPECT_EQ(matmul.bytes, 4 * (24 + 20 + 30));
  const Cost gemm =
      CostOfNode("g (float[7,3] a, float[7,5] b, float[5] c) => (float[3,5] y) { y = Gemm<transA = 1>(a, b, c) }");
  EXPECT_EQ(gemm.operations, 2 * 3 * 5 * 7);
  const Cost conv =
      CostOfNode("g (float[1,4,8,8] x, float[6,2,3,3] w) => (float[1,6,6,6] y) { y = Conv<group = 2>(x, w) }");
  EXPECT_EQ(conv.operations, 2 * 6 * 6 * 6 * 2 * 3 * 3);
  const Cost transposed =
      CostOfNode("g (float[1,4,8,8] x, float[4,6,2,2] w) => (float[1,6,9,9] y) { y = ConvTranspose(x, w) }");
  EXPECT_EQ(transposed.operations, 2 * 4 * 8 * 8 * 6 * 2 * 2);
  const Cost einsum = CostOfNode(
      "g (float[2,3,4] a, float[2,4,5] b) => (float[2,3,5] y) { y = Einsum<equation = \"bij,bjk->bik\">(a, b) }");
  EXPECT_EQ(einsum.operations, 2 * 2 * 3 * 4 * 5);
}

TEST(Cost, AttentionCountsBothProducts) {
  const Cost cost = CostOfNode(
      "g (float[1,2,3,8] q, float[1,2,5,8] k, float[1,2,5,8] v) => (float[1,2,3,8] y) { y = Attention(q, k, v) }");
  EXPECT_EQ(cost.operations, 4 * 2 * 3 * 5 * 8);
}

TEST(Cost, MovingIsNoArithmeticAndAGatherReadsWhatItPicks) {
  const Cost gather = CostOfNode("g (float[1000,4] table, int64[2] at) => (float[2,4] y) { y = Gather(table, at) }");
  EXPECT_EQ(gather.operations, 0);
  EXPECT_EQ(gather.bytes, 2 * 32 + 16);
  EXPECT_EQ(CostOfNode("g (float[5] x) => (float[5] y) { y = Exp(x) }").operations, 5);
  EXPECT_EQ(CostOfNode("g (float[5,4] x) => (int64[2] y) { y = Shape(x) }").bytes, 16);
}

TEST(Cost, WhatHasNoNumberGivesNone) {
  EXPECT_FALSE(CostOfNode("g (float[5] x) => (float[5] y) { y = Unknown(x) }").operations.has_value());
}

}  // namespace
}  // namespace sardonyx::ops
