// optimizer/passes/quantization/quantize_weights_test.cpp - float weights that lie on a grid become integers, others
// stay floats.
#include "testing/pass_example.h"
#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

constexpr const char* kIn = "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) ";

std::string MatMulGraph(std::string_view weights, std::string_view product = "y = MatMul(xd, w)") {
  return "g (float[2,3] x) => (float[2,2] y) <float s = {0.03}, uint8 z = {120}, float[3,2] w = {" +
         std::string(weights) + "}> {" + kIn + std::string(product) + "}";
}

// Columns of steps 0.01 and 0.5, and one that is no grid.
constexpr const char* kOnGrid = "1.27, 0.5, -0.03, -1.5, 0.64, 60";
constexpr const char* kOffGrid = "1.27, 0.5234567, -0.03, -1.5, 0.64, 60.1";

const testing::PassExample kExample("quantize_weights",
                                    {.changed = MatMulGraph(kOnGrid),
                                     .left = MatMulGraph(kOffGrid),
                                     .reasons = {"(MatMul, output 'y')",
                                                 "'w' are floats that were never quantized: channel 1"}});

TEST(QuantizeWeights, FindsAGridInEachChannel) {
  const PassedGraph g(MatMulGraph(kOnGrid), {&kQuantizeWeights}, 1e-5);
  EXPECT_EQ(g.Operators(), "QuantizeLinear DequantizeLinear DequantizeLinear MatMul");
  EXPECT_NE(g.Text().find("{127, 1, -3, -3, 64, 120}"), std::string::npos) << g.Text();
  EXPECT_NE(g.Text().find("<axis = 1>"), std::string::npos) << g.Text();
  const std::string transposed =
      "g (float[2,3] x) => (float[2,2] y) <float s = {0.03}, uint8 z = {120}, "
      "float[2,3] w = {1.27, -0.03, 0.64, 0.5, -1.5, 60}> {" +
      std::string(kIn) + "y = Gemm<transB = 1>(xd, w)}";
  const PassedGraph rows(transposed, {&kQuantizeWeights}, 1e-5);
  EXPECT_NE(rows.Text().find("{127, -3, 64, 1, -3, 120}"), std::string::npos) << rows.Text();
}

TEST(QuantizeWeights, ShiftsGridsThatAreNotSymmetric) {
  // From -30 to 225 steps of 0.01: the zero point is -98.
  const PassedGraph g(MatMulGraph("2.25, 0, -0.3, 0, 1.01, 0"), {&kQuantizeWeights}, 1e-5);
  EXPECT_NE(g.Text().find("{127, 0, -128, 0, 3, 0}"), std::string::npos) << g.Text();
  EXPECT_NE(g.Text().find("{-98, 0}"), std::string::npos) << g.Text();
}

TEST(QuantizeWeights, TakesAConvolutionAndItsOwnCopyOfSharedWeights) {
  const std::string conv =
      "g (float[1,2,3,3] x) => (float[1,2,3,3] y) <float s = {0.03}, uint8 z = {120}, "
      "float[2,2,1,1] w = {0.5, -0.25, 0.003, 0.007}> {" +
      std::string(kIn) + "y = Conv(xd, w)}";
  const PassedGraph g(conv, {&kQuantizeWeights, &kFuseQuantizedProduct}, 1e-5);
  EXPECT_EQ(g.Operators(), "QuantizeLinear ConvInteger Cast Mul");
  EXPECT_NE(g.Text().find("{2, -1, 3, 7}"), std::string::npos) << g.Text();
}

TEST(QuantizeWeights, ReadsDequantizedWeightsInAnotherShapeOrOf4Bits) {
  const auto conv = [](std::string_view weights, std::string_view made) {
    return "g (float[1,2,3] x) => (float[1,3,3] y) <float s = {0.03}, uint8 z = {120}, " + std::string(weights) +
           ", float[3] ws = {0.1, 0.2, 0.5}, int64[3] shape = {3, 2, 1}, int64[1] last = {2}> {" + std::string(kIn) +
           std::string(made) + " y = Conv(xd, w)}";
  };
  for (const std::string& text :
       {conv("int8[3,1,2] q = {1, 2, -3, 4, 5, -100}", "d = DequantizeLinear<axis = 0>(q, ws) w = Reshape(d, shape)"),
        conv("int8[3,2] q = {1, 2, -3, 4, 5, -100}", "d = DequantizeLinear<axis = 0>(q, ws) w = Unsqueeze(d, last)"),
        conv("int4[3,2,1] q = {1, 2, -3, 4, 5, -8}", "w = DequantizeLinear<axis = 0>(q, ws)")}) {
    const PassedGraph g(text, {&kQuantizeWeights, &kFuseQuantizedProduct}, 1e-4);
    EXPECT_EQ(g.Operators(), "QuantizeLinear ConvInteger Cast Mul") << g.Text();
  }
}

TEST(QuantizeWeights, LeavesOtherWeightsAlone) {
  EXPECT_EQ(PassedGraph(MatMulGraph(kOffGrid), {&kQuantizeWeights}).Operators(),
            "QuantizeLinear DequantizeLinear MatMul");
  EXPECT_EQ(PassedGraph(MatMulGraph(kOnGrid, "y = MatMul(x, w)"), {&kQuantizeWeights}).Operators(), "MatMul");
}

}  // namespace
}  // namespace sardonyx::optimizer
