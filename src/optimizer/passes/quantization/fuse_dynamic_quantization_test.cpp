// optimizer/passes/quantization/fuse_dynamic_quantization_test.cpp - spelled-out products of dynamically quantized
// tensors become one node; near misses stay.
#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

std::string DynamicGraph(std::string_view body, std::string_view outputs = "float[2,3] y") {
  return "g (float[2,4] x) => (" + std::string(outputs) +
         ") <int8[4,3] w = {1,2,-3,4,50,60,70,-80,90,100,11,-128}, float s = {0.02}, float[3] columns = "
         "{0.01,0.02,0.03}, "
         "int8 z = {0}, int8[3] zs = {1,2,-3}, float[3] bias = {0.5,-1,2}, float[2,1] tall = {1,2}> {" +
         std::string(body) + "}";
}

PassedGraph Fused(std::string_view body, std::string_view outputs = "float[2,3] y") {
  return PassedGraph(DynamicGraph(body, outputs), {&kFuseDynamicQuantization}, 1e-5);
}

constexpr const char* kQuantized = "q, qs, qz = DynamicQuantizeLinear(x) ";

TEST(FuseDynamicQuantization, MakesOneNodeOfProductScaleAndBias) {
  for (const char* scales : {"Mul(qs, s)", "Mul(s, qs)", "Mul(qs, columns)", "Mul(columns, qs)"}) {
    for (const char* sum : {"y = Add(m, bias)", "y = Add(bias, m)", "y = Identity(m)"}) {
      const PassedGraph g =
          Fused(std::string(kQuantized) + "p = MatMulInteger(q, w, qz, z) f = Cast<to = 1>(p) ss = " + scales +
                " m = Mul(f, ss) " + sum);
      EXPECT_TRUE(g.Operators().starts_with("DynamicQuantizeMatMul")) << g.Text();
    }
  }
}

TEST(FuseDynamicQuantization, SharesWhatIsQuantizedOnce) {
  const PassedGraph g = Fused(std::string(kQuantized) +
                                  "p = MatMulInteger(q, w, qz, zs) f = Cast<to = 1>(p) ss = Mul(qs, columns) "
                                  "y = Mul(ss, f) o = MatMulInteger(q, w, qz) e = Cast<to = 1>(o) tt = Mul(qs, s) "
                                  "v = Mul(e, tt)",
                              "float[2,3] y, float[2,3] v");
  EXPECT_EQ(g.Operators(), "DynamicQuantizeLinear MatMulIntegerToFloat MatMulIntegerToFloat") << g.Text();
}

TEST(FuseDynamicQuantization, LeavesOtherScalesAndReadersAlone) {
  const std::string product = std::string(kQuantized) + "p = MatMulInteger(q, w, qz, z) f = Cast<to = 1>(p) ";
  for (const char* rest : {"ss = Mul(qs, tall) y = Mul(f, ss)", "ss = Mul(qs, s) y = Div(f, ss)", "y = Mul(f, s)"})
    EXPECT_NE(Fused(product + rest).Operators().find("MatMulInteger Cast"), std::string::npos) << rest;
  EXPECT_NE(Fused(product + "ss = Mul(qs, s) y = Mul(f, ss)", "float[2,3] y, int32[2,3] p")
                .Operators()
                .find("MatMulInteger Cast"),
            std::string::npos);
}

}  // namespace
}  // namespace sardonyx::optimizer
