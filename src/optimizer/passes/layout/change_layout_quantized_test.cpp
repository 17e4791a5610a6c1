// optimizer/passes/layout/change_layout_quantized_test.cpp - quantized convolutions and what lies between them run
// channels last.
#include <algorithm>

#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

// Two 3x3 convolutions of bytes with `between` from a to b, 16 channels; a and b have scale s and zero point z.
std::string Between(std::string_view between) {
  const std::string text =
      "g (uint8[1,16,12,12] x) => (uint8[n,c,h,w] y) <int64[4] size = {16, 16, 3, 3}, float s = {0.05}, "
      "float t = {0.04}, uint8 z = {100}, uint8 k = {90}, int8 nz = {0}, float ws = {0.001}, float[16] each = {" +
      [] {
        std::string list = "0.01";
        for (int i = 2; i <= 16; ++i) list += ", 0.0" + std::to_string(i + 10);
        return list;
      }() +
      "}, uint8[256] table = {" +
      [] {
        std::string list = "255";
        for (int i = 1; i < 256; ++i) list += ", " + std::to_string(255 - i);
        return list;
      }() +
      "}, int64[2] halves = {8, 8}"
      "> {w = ConstantOfShape<value = int8 {3}>(size) v = ConstantOfShape<value = int8 {-5}>(size) "
      "a = QLinearConv<pads = [1, 1, 1, 1]>(x, s, z, w, ws, nz, s, z) " +
      std::string(between) + " y = QLinearConv(b, s, z, v, ws, nz, s, z)}";
  const PassedGraph g(text, {&kFoldConstants, &kChangeLayout, &kEliminateIdentity}, 0);
  std::string names;
  for (const NodeId id : g.graph.order) {
    const Node& node = g.graph.node(id);
    names +=
        std::string(names.empty() ? "" : " ") + (node.domain == "com.ms.internal.nhwc" ? "last." : "") + node.op_type;
  }
  return names;
}

std::string Chain(std::string_view between) { return "last.QLinearConv " + std::string(between) + " last.QLinearConv"; }

TEST(ChangeLayoutQuantized, OperatorsOfBytesFollow) {
  EXPECT_EQ(Between("b = com.microsoft.QLinearAdd(a, s, z, a, t, k, s, z)"), Chain("QLinearAdd"));
  EXPECT_EQ(Between("b = MaxPool<kernel_shape = [2, 2]>(a)"), Chain("last.MaxPool"));
  EXPECT_EQ(Between("b = com.microsoft.QLinearAveragePool<kernel_shape = [2, 2]>(a, s, z, t, k)"),
            Chain("QLinearAveragePool"));
  EXPECT_EQ(Between("b = ai.sardonyx.Lookup8(a, table)"), Chain("Lookup8"));
  EXPECT_EQ(Between("b = com.microsoft.QLinearSigmoid(a, s, z, t, k)"), Chain("QLinearSigmoid"));
  EXPECT_EQ(Between("f = DequantizeLinear(a, s, z) g = Tanh(f) b = QuantizeLinear(g, t, k)"),
            Chain("DequantizeLinear Tanh QuantizeLinear"));
  EXPECT_EQ(Between("f = DequantizeLinear<axis = 1>(a, each) g = Tanh(f) b = QuantizeLinear<axis = 1>(g, each)"),
            Chain("DequantizeLinear Tanh QuantizeLinear"));
  EXPECT_EQ(Between("c, d = Split<axis = 1>(a, halves) "
                    "b = com.microsoft.QLinearConcat<axis = 1>(t, k, d, s, z, c, t, k)"),
            Chain("Split QLinearConcat"));
  EXPECT_EQ(Between("b = com.microsoft.QLinearSoftmax<axis = 1, opset = 13>(a, s, z, t, k)"), Chain("QLinearSoftmax"));
}

TEST(ChangeLayoutQuantized, GatesOfMeansFollow) {
  EXPECT_EQ(Between("m = com.microsoft.QLinearGlobalAveragePool<channels_last = 0>(a, s, z, t, k) "
                    "b = com.microsoft.QLinearMul(a, s, z, m, t, k, s, z)"),
            Chain("QLinearGlobalAveragePool QLinearMul"));
  EXPECT_EQ(Between("m = com.microsoft.QLinearReduceMean<axes = [2, 3], keepdims = 1>(a, s, z, t, k) "
                    "b = com.microsoft.QLinearMul(m, t, k, a, s, z, s, z)"),
            Chain("QLinearReduceMean QLinearMul"));
}

TEST(ChangeLayoutQuantized, SoftmaxOfAllFromAnAxisOnStaysFirst) {
  const std::string all = Between("b = com.microsoft.QLinearSoftmax<axis = 1, opset = 11>(a, s, z, t, k)");
  EXPECT_NE(all.find("QLinearSoftmax"), std::string::npos);
  EXPECT_NE(all, Chain("QLinearSoftmax"));
}

}  // namespace
}  // namespace sardonyx::optimizer
