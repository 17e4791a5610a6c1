// optimizer/passes/quantization/eliminate_quantization_test.cpp - which pairs are removed, which stay, and that none is
// removed unless the user asks.
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::RunPipeline;

std::string After(const std::string& nodes, bool clean = true, const std::string& outputs = "float[4] y",
                  std::string_view beside = "") {
  const ops::Registry registry;
  Graph graph = GraphOf("g (float[4] x) => (" + outputs +
                            ") <float s = {0.1}, uint8 z = {3}, uint16 w = {3}, float t = {0.2}> { " + nodes + " }",
                        registry);
  OptimizeOptions options;
  options.clean_quantization = clean;
  for (const PassInfo& info : AllPasses())
    if (info.name != "eliminate_quantization" && info.name != beside) options.disabled_passes.emplace_back(info.name);
  RunPipeline(graph, registry, options);
  return Operators(graph);
}

// Expected is what ONNX Runtime 1.31.1 saves with the entry.
TEST(EliminateQuantization, PairsOfEqualParametersGo) {
  const std::string pair = "a = Neg(x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z) y = Exp(d)";
  EXPECT_EQ(After(pair), "Neg Exp");
  EXPECT_EQ(After(pair, false), "Neg QuantizeLinear DequantizeLinear Exp");
  EXPECT_EQ(After("a = Neg(x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z) e = DequantizeLinear(q, s, z)"
                  " y = Add(d, e)"),
            "Neg Add");
  EXPECT_EQ(After("a = Neg(x) q = QuantizeLinear(a, s, w) d = DequantizeLinear(q, s, w) y = Exp(d)"), "Neg Exp");
  EXPECT_EQ(After("a = Neg(x) q = QuantizeLinear(a, s, z) y = DequantizeLinear(q, s, z)"), "Neg");
  EXPECT_EQ(After("q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z)"), "Identity");
  EXPECT_EQ(After("a = Neg(x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z) p = QuantizeLinear(d, t, z)"
                  " e = DequantizeLinear(p, t, z) y = Exp(e)"),
            "Neg Exp");
}

// The table of a change of scale would hide the pairs.
TEST(EliminateQuantization, PairsOfSeveralScalesGoToo) {
  const std::string nodes =
      "a = Neg(x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z) p = QuantizeLinear(d, t, z) "
      "e = DequantizeLinear(p, t, z) y = Exp(e)";
  EXPECT_EQ(After(nodes, true, "float[4] y", "fuse_lookup"), "Neg Exp");
  EXPECT_EQ(After(nodes, false, "float[4] y", "fuse_lookup"), "Neg QuantizeLinear Lookup8 DequantizeLinear Exp");
}

TEST(EliminateQuantization, OthersStay) {
  EXPECT_EQ(After("a = Neg(x) q = QuantizeLinear(a, s, w) d = DequantizeLinear(q, t, w) y = Exp(d)"),
            "Neg QuantizeLinear DequantizeLinear Exp");
  EXPECT_EQ(After("a = Neg(x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, t, z) y = Exp(d)"),
            "Neg QuantizeLinear DequantizeLinear Exp");
  EXPECT_EQ(After("a = Neg(x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z) y = Exp(d)", true,
                  "float[4] y, uint8[4] q"),
            "Neg QuantizeLinear DequantizeLinear Exp");
  EXPECT_EQ(After("a = Neg(x) q = QuantizeLinear(a, s, z) d = DequantizeLinear(q, s, z) y = Exp(d) r = Identity(q)",
                  true, "float[4] y, uint8[4] r"),
            "Neg QuantizeLinear DequantizeLinear Exp Identity");
}

}  // namespace
}  // namespace sardonyx::optimizer
