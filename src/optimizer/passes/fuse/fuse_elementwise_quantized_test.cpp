// optimizer/passes/fuse/fuse_elementwise_quantized_test.cpp - chains between DequantizeLinear and QuantizeLinear, with
// quantized values inside, become one node on bytes. Values never change.
#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

PassedGraph Fused(std::string_view body, std::string_view outputs = "uint8[3,700] y", std::int64_t opset = 21) {
  return PassedGraph(
      "g (uint8[3,700] xq, int8[3,1] vq) => (" + std::string(outputs) +
          ") <float s = {0.03}, uint8 z = {120}, int8 n = {-7}, float t = {0.05}, uint8 k = {99}, "
          "float two = {2}, float[3,1] each = {1, -2, 3}, float[700] scales = {" +
          [] {
            std::string list = "0.01";
            for (int i = 1; i < 700; ++i) list += ", 0.02";
            return list;
          }() +
          "}> {xd = DequantizeLinear(xq, s, z) " + "vd = DequantizeLinear(vq, t, n) " + std::string(body) + "}",
      {&kFuseElementwise}, 0, opset);
}

constexpr const char* kBoth = "FusedElementwise";

TEST(FuseElementwiseQuantized, ReadsAndWritesBytes) {
  for (const char* chain : {"m = Sub(xd, vd)", "m = Sub(vd, xd)", "m = Div(vd, xd)", "m = Max(xd, vd)",
                            "a = Mul(xd, vd) m = Sub(a, each)"}) {
    const PassedGraph g = Fused(std::string(chain) + " y = QuantizeLinear(m, t, k)");
    EXPECT_TRUE(g.Operators().ends_with("FusedElementwise")) << g.Text();
    EXPECT_EQ(g.Operators().find("Dequantize"), std::string::npos) << g.Text();
  }
  EXPECT_EQ(Fused("m = Sub(xd, vd) y = QuantizeLinear(m, t, n)", "int8[3,700] y").Operators(), kBoth);
  EXPECT_EQ(Fused("m = Sub(xd, vd) y = QuantizeLinear(m, t, n)", "int8[3,700] y", 13).Operators(), kBoth);
}

TEST(FuseElementwiseQuantized, KeepsQuantizedValuesInside) {
  const PassedGraph g = Fused(
      "a = Div(xd, two) aq = QuantizeLinear(a, t, n) ad = DequantizeLinear(aq, t, n) b = Mul(ad, vd) "
      "bq = QuantizeLinear(b, s, k) bd = DequantizeLinear(bq, s, k) m = Add(bd, xd) y = QuantizeLinear(m, t, k)");
  EXPECT_EQ(g.Operators(), kBoth) << g.Text();
  EXPECT_NE(g.Text().find("QuantizeInt8"), std::string::npos) << g.Text();
  EXPECT_NE(g.Text().find("QuantizeUInt8"), std::string::npos) << g.Text();
}

TEST(FuseElementwiseQuantized, EndsInFloatsToo) {
  EXPECT_EQ(Fused("a = Sub(xd, vd) y = Tanh(a)", "float[3,700] y").Operators(), kBoth);
}

// The gates of squeeze and excitation: a function of bytes whose floats two nodes read, one of them no elementwise one.
TEST(FuseElementwiseQuantized, TakesOneFunctionOfBytes) {
  const PassedGraph g = Fused("y = Tanh(xd) w = ReduceMax(y)", "float[3,700] y, float[1,1] w");
  EXPECT_EQ(g.Operators(), std::string(kBoth) + " ReduceMax") << g.Text();
  const PassedGraph shared = Fused("y = Tanh(xd) w = ReduceMax(xd)", "float[3,700] y, float[1,1] w");
  EXPECT_EQ(shared.Operators(), "DequantizeLinear Tanh ReduceMax") << shared.Text();
}

TEST(FuseElementwiseQuantized, LeavesQuantizedValuesThatOthersRead) {
  const PassedGraph g = Fused(
      "a = Sub(xd, vd) aq = QuantizeLinear(a, t, k) ad = DequantizeLinear(aq, t, k) b = Tanh(ad) m = Mul(b, ad) "
      "y = QuantizeLinear(m, t, k)",
      "uint8[3,700] y, uint8[3,700] aq");
  EXPECT_EQ(g.Operators(), std::string(kBoth) + " FusedElementwise") << g.Text();
}

TEST(FuseElementwiseQuantized, LeavesScalesOfAnAxisAlone) {
  EXPECT_EQ(Fused("m = Sub(xd, vd) y = QuantizeLinear<axis = 1>(m, scales)").Operators(),
            "DequantizeLinear DequantizeLinear Sub QuantizeLinear");
}

}  // namespace
}  // namespace sardonyx::optimizer
