// runtime/profile/cost_test.cpp - operations and bytes of nodes for which they are easily computed by hand.
#include "runtime/profile/cost.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/registry.h"

namespace sardonyx::runtime {
namespace {

// The cost of the only node of a graph whose types are all written out.
ops::Cost CostOfNode(const std::string& text) {
  static const ops::Registry registry;
  const Graph graph = ParseGraph(text);
  const Node& node = graph.node(graph.order[0]);
  std::vector<Shape> shapes;
  std::vector<ops::TensorRef> inputs, outputs;
  shapes.reserve(node.inputs.size() + node.outputs.size());
  const auto add = [&](ValueId id, std::vector<ops::TensorRef>& list) {
    if (id == kNoValue) return list.push_back({});
    const Type& type = graph.value(id).type;
    shapes.push_back(type.StaticShape());
    list.push_back({type.dtype, nullptr, shapes.back(), ElementCount(shapes.back())});
  };
  for (const ValueId id : node.inputs) add(id, inputs);
  for (const ValueId id : node.outputs) add(id, outputs);
  const ops::OpDef* op = nullptr;
  for (int version = 30; version > 0 && op == nullptr; --version)
    op = registry.Find(node.domain, node.op_type, version);
  return CostOf(node, op, nullptr, inputs, outputs);
}

TEST(Cost, CountsTwoOperationsForEachMultiplyAndAdd) {
  const ops::Cost matmul = CostOfNode("g (float[2,3,4] a, float[4,5] b) => (float[2,3,5] y) { y = MatMul(a, b) }");
  EXPECT_EQ(matmul.operations, 2 * 2 * 3 * 4 * 5);
  EXPECT_EQ(matmul.bytes, 4 * (24 + 20 + 30));
  const ops::Cost gemm =
      CostOfNode("g (float[7,3] a, float[7,5] b, float[5] c) => (float[3,5] y) { y = Gemm<transA = 1>(a, b, c) }");
  EXPECT_EQ(gemm.operations, 2 * 3 * 5 * 7);
  const ops::Cost conv =
      CostOfNode("g (float[1,4,8,8] x, float[6,2,3,3] w) => (float[1,6,6,6] y) { y = Conv<group = 2>(x, w) }");
  EXPECT_EQ(conv.operations, 2 * 6 * 6 * 6 * 2 * 3 * 3);
  const ops::Cost transposed =
      CostOfNode("g (float[1,4,8,8] x, float[4,6,2,2] w) => (float[1,6,9,9] y) { y = ConvTranspose(x, w) }");
  EXPECT_EQ(transposed.operations, 2 * 4 * 8 * 8 * 6 * 2 * 2);
  const ops::Cost einsum = CostOfNode(
      "g (float[2,3,4] a, float[2,4,5] b) => (float[2,3,5] y) { y = Einsum<equation = \"bij,bjk->bik\">(a, b) }");
  EXPECT_EQ(einsum.operations, 2 * 2 * 3 * 4 * 5);
}

TEST(Cost, EinsumsKnowTheirEllipsis) {
  const ops::Cost batched = CostOfNode(
      "g (float[2,7,3,4] a, float[7,4,5] b) => (float[2,7,3,5] y) { y = Einsum<equation = \"...ij,...jk->...ik\">(a, "
      "b) "
      "}");
  EXPECT_EQ(batched.operations, 2 * 2 * 7 * 3 * 4 * 5);
  const ops::Cost summed =
      CostOfNode("g (float[2,3,4] a, float[4,5] b) => (float[5] y) { y = Einsum<equation = \"...j, jk -> k\">(a, b) }");
  EXPECT_EQ(summed.operations, 2 * 2 * 3 * 4 * 5);
}

TEST(Cost, QuantizedProductsCountAsOthersAndComputeWithBytes) {
  const ops::Cost conv = CostOfNode(
      "g (uint8[1,8,8,4] x, float s, uint8 z, int8[6,4,3,3] w, float ws, int8 wz, float ys, uint8 yz, int32[6] b,"
      "   uint8[1,6,6,6] sum, float ss, uint8 sz, float rs, uint8 rz) => (uint8[1,6,6,6] y) {"
      "  y = ai.sardonyx.QLinearConvAdd(x, s, z, w, ws, wz, ys, yz, b, sum, ss, sz, rs, rz) }");
  EXPECT_EQ(conv.operations, 2 * 6 * 6 * 6 * 4 * 3 * 3);
  EXPECT_EQ(conv.computes, DType::kInt8);
  const ops::Cost dynamic = CostOfNode(
      "g (float[2,4] a, uint8[4,5] b, float s) => (float[2,5] y) { y = com.microsoft.DynamicQuantizeMatMul(a, b, s) }");
  EXPECT_EQ(dynamic.operations, 2 * 2 * 4 * 5);
  EXPECT_EQ(dynamic.computes, DType::kInt8);
  EXPECT_EQ(dynamic.written, 4 * 10);
}

TEST(Cost, AKernelMayLeavePaddingOut) {
  const ops::Cost row =
      CostOfNode("g (float[1,1,3] x, float[1,1,3] w) => (float[1,1,3] y) { y = Conv<pads = [1, 1]>(x, w) }");
  EXPECT_EQ(row.operations, 2 * 3 * 3);
  EXPECT_DOUBLE_EQ(row.arithmetic, 7.0 / 9);
  const ops::Cost wide =
      CostOfNode("g (float[1,2,50] x, float[2,2,128] w) => (float[1,2,51] y) { y = Conv<pads = [64, 64]>(x, w) }");
  EXPECT_DOUBLE_EQ(wide.arithmetic, 50.0 * 51 / (51 * 128));  // the whole image is within each window
  const ops::Cost image = CostOfNode(
      "g (float[1,5,4,2] x, float[6,2,3,3] w) => (float[1,3,2,6] y) {"
      "  y = com.ms.internal.nhwc.Conv<auto_pad = \"SAME_UPPER\", strides = [2, 2]>(x, w) }");
  EXPECT_DOUBLE_EQ(image.arithmetic, (2 + 3 + 2) * (3 + 2) / (3.0 * 3 * 2 * 3));  // one row before, one column behind
  EXPECT_EQ(CostOfNode("g (float[1,1,5] x, float[1,1,3] w) => (float[1,1,3] y) { y = Conv(x, w) }").arithmetic, 1);
}

TEST(Cost, AttentionCountsBothProducts) {
  const ops::Cost cost = CostOfNode(
      "g (float[1,2,3,8] q, float[1,2,5,8] k, float[1,2,5,8] v) => (float[1,2,3,8] y) { y = Attention(q, k, v) }");
  EXPECT_EQ(cost.operations, 4 * 2 * 3 * 5 * 8);
}

TEST(Cost, MovingIsNoArithmeticAndAGatherReadsWhatItPicks) {
  const ops::Cost gather =
      CostOfNode("g (float[1000,4] table, int64[2] at) => (float[2,4] y) { y = Gather(table, at) }");
  EXPECT_EQ(gather.operations, 0);
  EXPECT_EQ(gather.bytes, 2 * 32 + 16);
  const ops::Cost embedded = CostOfNode(
      "g (int32[1,2] ids, float[1000,4] words, float[512,4] places, float[4] g, float[4] b) => (float[1,2,4] y) {"
      "  y = com.microsoft.EmbedLayerNormalization(ids, , words, places, , g, b) }");
  EXPECT_EQ(embedded.bytes, 8 + 32 + 32 + 16 + 16 + 32);
  const ops::Cost in_segments = CostOfNode(
      "g (int32[1,2] ids, int32[1,2] parts, float[1000,4] words, float[512,4] places, float[200,4] segments, float[4] "
      "g,"
      "   float[4] b) => (float[1,2,4] y) {"
      "  y = com.microsoft.EmbedLayerNormalization(ids, parts, words, places, segments, g, b) }");
  EXPECT_EQ(in_segments.bytes, embedded.bytes + 8 + 32);  // of each table what is picked
  EXPECT_EQ(CostOfNode("g (float[5] x) => (float[5] y) { y = Exp(x) }").operations, 5);
  EXPECT_EQ(CostOfNode("g (float[5,4] x) => (int64[2] y) { y = Shape(x) }").bytes, 16);
}

TEST(Cost, WhatHasNoNumberGivesNone) {
  EXPECT_FALSE(CostOfNode("g (float[5] x) => (float[5] y) { y = Unknown(x) }").operations.has_value());
}

}  // namespace
}  // namespace sardonyx::runtime
