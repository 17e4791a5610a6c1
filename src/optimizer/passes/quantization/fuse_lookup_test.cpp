// optimizer/passes/quantization/fuse_lookup_test.cpp - functions of one 8-bit tensor become tables; those of two or of
// other shapes stay. Values never change.
#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

PassedGraph Fused(std::string_view body, std::string_view outputs = "uint8[2,4,6] y", std::int64_t opset = 21) {
  return PassedGraph("g (float[2,4,6] x, float[2,4,6] v) => (" + std::string(outputs) +
                         ") <float s = {0.03}, uint8 z = {120}, int8 n = {-7}, float t = {0.05}, float half = {0.5}, "
                         "float[1] one = {1}, float root = {1.4142}, float zero = {0}, float[6] row = {1,2,3,4,5,6}, "
                         "float[1,1,1,1] deep = {2}, float three = {3}> {" +
                         std::string(body) + "}",
                     {&kFuseLookup}, 0, opset);
}

constexpr const char* kIn = "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) ";

TEST(FuseLookup, MakesATableOfAnyFunction) {
  for (const char* function :
       {"Sigmoid(xd)", "HardSigmoid(xd)", "LeakyRelu<alpha = 0.2>(xd)", "Tanh(xd)", "Erf(xd)", "Relu(xd)",
        "Clip(xd, zero, half)", "Add(xd, half)", "Mul(one, xd)", "Div(half, xd)", "Pow(xd, three)", "Sub(xd, one)"}) {
    const PassedGraph g = Fused(std::string(kIn) + "m = " + function + " y = QuantizeLinear(m, t, z)");
    EXPECT_EQ(g.Operators(), "QuantizeLinear Lookup8") << function;
  }
}

TEST(FuseLookup, MakesOneTableOfAChainWithQuantizationsBetween) {
  const PassedGraph gelu = Fused(
      std::string(kIn) +
          "d = Div(xd, root) e = Erf(d) eq = QuantizeLinear(e, s, z) ed = DequantizeLinear(eq, s, z) "
          "a = Add(one, ed) aq = QuantizeLinear(a, t, z) ad = DequantizeLinear(aq, t, z) m = Mul(xd, ad) "
          "mq = QuantizeLinear(m, t, z) md = DequantizeLinear(mq, t, z) h = Mul(md, half) y = QuantizeLinear(h, s, n)",
      "int8[2,4,6] y");
  EXPECT_EQ(gelu.Operators(), "QuantizeLinear Lookup8");
}

// Deeper than a stack holds calls.
TEST(FuseLookup, MakesOneTableOfAChainOfAnyLength) {
  std::string chain = std::string(kIn) + "c0 = Neg(xd) ";
  const int length = 100'000;
  for (int i = 1; i < length; ++i) chain += "c" + std::to_string(i) + " = Neg(c" + std::to_string(i - 1) + ") ";
  EXPECT_EQ(Fused(chain + "y = QuantizeLinear(c" + std::to_string(length - 1) + ", t, z)").Operators(),
            "QuantizeLinear Lookup8");
}

TEST(FuseLookup, ChangesOfScaleAreTablesAndThoseThatChangeNothingVanish) {
  EXPECT_EQ(Fused(std::string(kIn) + "y = QuantizeLinear(xd, t, z)").Operators(), "QuantizeLinear Lookup8");
  const PassedGraph same = Fused(std::string(kIn) +
                                     "nan = IsNaN(xd) m = Where(nan, zero, xd) yq = QuantizeLinear(m, s, z) "
                                     "y = DequantizeLinear(yq, s, z)",
                                 "float[2,4,6] y");
  EXPECT_EQ(same.Operators(), "QuantizeLinear DequantizeLinear");
}

TEST(FuseLookup, KeepsWhatOthersRead) {
  const PassedGraph g = Fused(std::string(kIn) +
                                  "h = HardSigmoid(xd) hq = QuantizeLinear(h, s, z) "
                                  "hd = DequantizeLinear(hq, s, z) m = Mul(xd, hd) "
                                  "y = QuantizeLinear(m, t, z) u = Neg(hd)",
                              "uint8[2,4,6] y, float[2,4,6] u");
  EXPECT_EQ(g.Operators(), "QuantizeLinear Lookup8 Lookup8 DequantizeLinear Neg") << g.Text();
}

TEST(FuseLookup, LeavesFunctionsOfMoreAlone) {
  const std::string both = std::string(kIn) + "vq = QuantizeLinear(v, s, z) vd = DequantizeLinear(vq, s, z) ";
  EXPECT_EQ(Fused(both + "m = Add(vd, xd) y = QuantizeLinear(m, t, z)").Operators().find("Lookup8"), std::string::npos);
  EXPECT_EQ(Fused(std::string(kIn) + "m = Add(row, xd) y = QuantizeLinear(m, t, z)").Operators().find("Lookup8"),
            std::string::npos);
  EXPECT_EQ(Fused(std::string(kIn) + "m = Mul(deep, xd) y = QuantizeLinear(m, t, z)", "uint8[1,2,4,6] y")
                .Operators()
                .find("Lookup8"),
            std::string::npos);
  EXPECT_EQ(Fused(std::string(kIn) + "m = Softmax(xd) y = QuantizeLinear(m, t, z)").Operators().find("Lookup8"),
            std::string::npos);
  EXPECT_EQ(Fused("m = Sigmoid(x) y = QuantizeLinear(m, t, z)").Operators(), "Sigmoid QuantizeLinear");
}

}  // namespace
}  // namespace sardonyx::optimizer
