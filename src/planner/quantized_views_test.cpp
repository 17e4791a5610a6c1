// planner/quantized_views_test.cpp - what gets a pair of QuantizeLinear and DequantizeLinear, and what does not.
#include "planner/quantized_views.h"

#include <gtest/gtest.h>

#include <utility>

#include "ir/text.h"
#include "ops/infer.h"
#include "ops/registry.h"

namespace sardonyx::planner {
namespace {

// The operators of a graph, in its order, with the names of the values that they make.
std::string Quantized(const std::string& body) {
  Model model = ParseModel("<ir_version: 8, opset_import: [\"\" : 17]>\n" + body);
  const ops::Registry registry;
  ops::ResolveVersions(model.graph, registry, model);
  ops::Infer(model.graph, registry);
  QuantizeAroundViews(model.graph);
  std::string text;
  for (const NodeId id : model.graph.order) {
    const Node& node = model.graph.node(id);
    text += (text.empty() ? "" : ", ") + model.graph.value(node.outputs[0]).name + " = " + node.op_type;
  }
  return text;
}

TEST(QuantizedViews, WhatMovesQuantizedElementsIsQuantizedOnBothSides) {
  EXPECT_EQ(Quantized(R"(g (uint8[2, 4] x) => (float[4, 2] y) <float s = {0.5}, uint8 z = {3}> {
              a = DequantizeLinear (x, s, z)  b = Transpose <perm = [1, 0]> (a)  y = Sinh (b) })"),
            "a = DequantizeLinear, b = Transpose, b_q = QuantizeLinear, b_dq = DequantizeLinear, y = Sinh");
  EXPECT_EQ(Quantized(R"(g (float[2, 4] x) => (uint8[4, 2] y) <float s = {0.5}, uint8 z = {3}> {
              a = Sinh (x)  b = Transpose <perm = [1, 0]> (a)  y = QuantizeLinear (b, s, z) })"),
            "a = Sinh, a_q = QuantizeLinear, a_dq = DequantizeLinear, b = Transpose, y = QuantizeLinear");
}

// QuantizeLinear takes no zero point of another shape than its scale's.
TEST(QuantizedViews, AZeroPointThatIsAddedHasTheShapeOfTheScale) {
  for (const auto& [scale, rank] : {std::pair("float s = {0.5}", 0U), std::pair("float[1] s = {0.5}", 1U)}) {
    Model model = ParseModel(std::string(R"(<ir_version: 8, opset_import: ["" : 17]>
      g (int8[2, 4] x) => (float[4, 2] y) <)") +
                             scale + R"(> {
        a = DequantizeLinear (x, s)  b = Transpose <perm = [1, 0]> (a)  y = Sinh (b) })");
    const ops::Registry registry;
    ops::ResolveVersions(model.graph, registry, model);
    ops::Infer(model.graph, registry);
    QuantizeAroundViews(model.graph);
    const ValueId zero_point = model.graph.node(model.graph.order[2]).inputs[2];
    ASSERT_NE(model.graph.value(zero_point).constant(), nullptr) << scale;
    EXPECT_EQ(model.graph.value(zero_point).constant()->shape().size(), rank);
  }
}

TEST(QuantizedViews, OthersStayAsTheyAre) {
  // Quantized on both sides already; another reader of the float; a scale for each row; a constant; another operator.
  for (const char* body :
       {R"(g (uint8[2, 4] x) => (uint8[4, 2] y) <float s = {0.5}, uint8 z = {3}> {
             a = DequantizeLinear (x, s, z)  b = Transpose <perm = [1, 0]> (a)  y = QuantizeLinear (b, s, z) })",
        R"(g (float[2, 4] x) => (uint8[4, 2] y, float[4, 2] v) <float s = {0.5}, uint8 z = {3}> {
             a = Sinh (x)  b = Transpose <perm = [1, 0]> (a)  y = QuantizeLinear (b, s, z)  v = Neg (b) })",
        R"(g (uint8[2, 4] x) => (float[4, 2] y) <float[2] s = {0.5, 1}, uint8[2] z = {3, 3}> {
             a = DequantizeLinear <axis = 0> (x, s, z)  b = Transpose <perm = [1, 0]> (a)  y = Sinh (b) })",
        R"(g (float[4, 2] x) => (float[4, 2] y) <float s = {0.5}, uint8[2, 4] w = {1, 2, 3, 4, 5, 6, 7, 8}> {
             a = DequantizeLinear (w, s)  b = Transpose <perm = [1, 0]> (a)  y = Add (b, x) })",
        R"(g (uint8[2, 4] x) => (float[2, 4] y) <float s = {0.5}, uint8 z = {3}> {
             a = DequantizeLinear (x, s, z)  b = Relu (a)  y = Sinh (b) })"}) {
    EXPECT_EQ(Quantized(body).find("_q = "), std::string::npos) << Quantized(body);
  }
}

}  // namespace
}  // namespace sardonyx::planner
