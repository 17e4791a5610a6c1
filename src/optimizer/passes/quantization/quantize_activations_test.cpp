// optimizer/passes/quantization/quantize_activations_test.cpp - limits before QuantizeLinear vanish or act on bytes;
// values stay.
#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

PassedGraph Passed(std::string_view body, std::initializer_list<const Pass*> passes = {&kQuantizeActivations},
                   double quanta = 0, std::string_view outputs = "uint8[1,2,3,3] y", std::int64_t opset = 21) {
  return PassedGraph("g (float[1,2,3,3] x) => (" + std::string(outputs) +
                         ") <float s = {0.03}, uint8 none = {0}, uint8 z = {120}, int8 n = {-128}, int8 m = {4}, "
                         "uint16 none16 = {0}, int16 n16 = {-32768}, uint16 z16 = {1}, "
                         "float high16 = {1966.04}, "
                         "float low = {-0.5}, float high = {1.25}, float far = {100}, "
                         "int8[2,2,1,1] w = {10, -20, 30, 40}, float[2] row = {1, 2}> {" +
                         std::string(body) + "}",
                     passes, quanta, opset);
}

TEST(QuantizeActivations, WhatTheRangeCutsOffDisappears) {
  EXPECT_EQ(Passed("a = Neg(x) r = Relu(a) y = QuantizeLinear(r, s, none)").Operators(), "Neg QuantizeLinear");
  EXPECT_EQ(
      Passed("a = Neg(x) r = Relu(a) y = QuantizeLinear(r, s, n)", {&kQuantizeActivations}, 0, "int8[1,2,3,3] y", 13)
          .Operators(),
      "Neg QuantizeLinear");
  EXPECT_EQ(Passed("a = Neg(x) r = Clip(a, , far) y = QuantizeLinear(r, s, z)").Operators(), "Neg QuantizeLinear");
}

// Scale 0.03: the highest is 65535 * 0.03 = 1966.05, or 0.03 less with a zero point of 1.
TEST(QuantizeActivations, WhatTheRangeOf16BitsCutsOffDisappears) {
  const auto after = [](const std::string& body, const std::string& type) {
    return Passed("a = Add(x, x) r = " + body, {&kQuantizeActivations}, 0, type + "[1,2,3,3] y").Operators();
  };
  EXPECT_EQ(after("Relu(a) y = QuantizeLinear(r, s, none16)", "uint16"), "Add QuantizeLinear");
  EXPECT_EQ(after("Relu(a) y = com.microsoft.QuantizeLinear(r, s, none16)", "uint16"), "Add QuantizeLinear");
  EXPECT_EQ(after("Relu(a) y = QuantizeLinear(r, s, n16)", "int16"), "Add QuantizeLinear");
  EXPECT_EQ(after("Clip(a, low, high16) y = QuantizeLinear(r, s, z16)", "uint16"), "Add QuantizeLinear");
  // What stays is not quantized before: no operator computes with 16 bits.
  EXPECT_EQ(after("Relu(a) y = QuantizeLinear(r, s, z16)", "uint16"), "Add Relu QuantizeLinear");
  EXPECT_EQ(after("Clip(a, low, high16) y = QuantizeLinear(r, s, none16)", "uint16"), "Add Clip QuantizeLinear");
  EXPECT_EQ(after("Clip(a, , far) y = QuantizeLinear(r, s, n16)", "int16"), "Add Clip QuantizeLinear");
}

constexpr std::string_view kProduct =
    "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) wd = DequantizeLinear(w, s) a = Conv(xd, wd)";
constexpr std::string_view kBoth = "QuantizeLinear DequantizeLinear DequantizeLinear Conv ";

TEST(QuantizeActivations, OtherLimitsActOnBytes) {
  for (const char* limit : {"Relu(a)", "Clip(a, low, high)", "Clip(a, low)", "Clip(a, , high)"}) {
    const std::string body = std::string(kProduct) + " r = " + limit + " y = QuantizeLinear(r, s, z)";
    const PassedGraph g = Passed(body);
    const std::string op = std::string(limit).substr(0, 4) == "Relu" ? "Relu" : "Clip";
    EXPECT_EQ(g.Operators(), std::string(kBoth) + "QuantizeLinear DequantizeLinear " + op + " QuantizeLinear");
    EXPECT_EQ(Passed(body, {&kQuantizeActivations, &kFuseLookup}).Operators(),
              std::string(kBoth) + "QuantizeLinear Lookup8");
  }
}

TEST(QuantizeActivations, MakesWayForIntegerConvolutions) {
  const std::string chain =
      "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) wd = DequantizeLinear(w, s) a = Conv(xd, wd) ";
  const std::initializer_list<const Pass*> passes = {&kQuantizeActivations, &kFuseQuantizedProduct, &kFuseLookup};
  EXPECT_EQ(Passed(chain + "r = Relu(a) y = QuantizeLinear(r, s, none)", passes, 1).Operators(),
            "QuantizeLinear QLinearConv");
  EXPECT_EQ(Passed(chain + "r = Clip(a, low, high) y = QuantizeLinear(r, s, z)", passes, 1).Operators(),
            "QuantizeLinear QLinearConv Lookup8");
}

// No integer operator will compute them, and a NaN would become the limit instead of the lowest integer.
TEST(QuantizeActivations, LeavesLimitsOfFloats) {
  const std::string limit = " r = Relu(a) y = QuantizeLinear(r, s, z)";
  EXPECT_EQ(Passed("a = Add(x, x)" + limit).Operators(), "Add Relu QuantizeLinear");
  const std::string dequantized = "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) ";
  EXPECT_EQ(Passed(dequantized + "a = Mul(xd, x)" + limit).Operators(),
            "QuantizeLinear DequantizeLinear Mul Relu QuantizeLinear");
  EXPECT_EQ(Passed("e = Exp(x) wd = DequantizeLinear(w, s) a = Conv(e, wd)" + limit).Operators(),
            "Exp DequantizeLinear Conv Relu QuantizeLinear");
}

TEST(QuantizeActivations, SeesIntegersBehindOthers) {
  const std::string end = " r = Relu(b) y = QuantizeLinear(r, s, z)";
  const std::string bytes = " QuantizeLinear DequantizeLinear Relu QuantizeLinear";
  EXPECT_EQ(Passed(std::string(kProduct) + " t = Transpose<perm = [0, 1, 3, 2]>(a) b = Add(t, xd)" + end).Operators(),
            std::string(kBoth) + "Transpose Add" + bytes);
  EXPECT_EQ(Passed(std::string(kProduct) +
                   " k = MaxPool<kernel_shape = [1, 1]>(xd) c = Concat<axis = 1>(k, a)"
                   " d = Add(c, s) p, q = Split<axis = 1, num_outputs = 2>(d) b = Mul(p, xd)" +
                   end)
                .Operators(),
            std::string(kBoth) + "MaxPool Concat Add Split Mul" + bytes);
}

TEST(QuantizeActivations, LeavesOthersAlone) {
  EXPECT_EQ(Passed(std::string(kProduct) + " r = Relu(a) y = QuantizeLinear(r, s, z)", {&kQuantizeActivations}, 0,
                   "uint8[1,2,3,3] y, float[1,2,3,3] a")
                .Operators(),
            std::string(kBoth) + "Relu QuantizeLinear");
  EXPECT_EQ(Passed("a = Add(x, x) r = Relu(a) y = QuantizeLinear(r, s, none)", {&kQuantizeActivations}, 0,
                   "uint8[1,2,3,3] y, float[1,2,3,3] r")
                .Operators(),
            "Add Relu QuantizeLinear");
  EXPECT_EQ(Passed("a = Exp(x) r = Clip(a, low, high) y = QuantizeLinear(r, s, z)").Operators(),
            "Exp Clip QuantizeLinear");
  EXPECT_EQ(Passed("a = Add(x, x) r = Clip(a, high, low) y = QuantizeLinear(r, s, z)").Operators(),
            "Add Clip QuantizeLinear");
}

}  // namespace
}  // namespace sardonyx::optimizer
