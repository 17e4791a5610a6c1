// optimizer/passes/quantization/fuse_quantized_conv_scale_test.cpp - what follows a convolution of quantized weights
// goes into their scales; where integers or scales do not allow it, it stays.
#include "testing/pass_example.h"
#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

std::string ConvGraph(std::string_view body, std::string_view outputs = "float[1,2,2,2] y",
                      std::string_view weights = "100, 11, 12, -13, 14, 15, 0, -127") {
  return "g (float[1,1,3,3] x) => (" + std::string(outputs) + ") <int8[2,1,2,2] w = {" + std::string(weights) +
         "}, float s = {0.03}, float[2] ws = {0.01, 0.02}, int8[2] wz = {0, 3}, float[2] b = {0.5, -1}, "
         "int8[2] bq = {50, -100}, float[2,1,1] c = {2, -0.5}, float[1,2,1,1] d = {0, 3}, float five = {5}, "
         "float[2] scale = {2, 3}, float[2] shift = {0.5, -1}, float[2] mean = {1, -2}, float[2] variance = {4, 0.25}, "
         "float[2] flip = {-2, 3}, float[1,1,2,2] image = {1, 2, 3, 4}> {" +
         std::string(body) + "}";
}

constexpr const char* kWeights = "wd = DequantizeLinear<axis = 0>(w, ws) ";
constexpr const char* kNorm = "y = BatchNormalization<epsilon = 0.01>(k, scale, shift, mean, variance)";

const testing::PassExample kExample("fuse_quantized_conv_scale",
                                    {.changed = ConvGraph(std::string(kWeights) + "k = Conv(x, wd) " + kNorm),
                                     .left = ConvGraph(std::string(kWeights) + "k = Conv(x, wd) y = Mul(k, image)"),
                                     .reasons = {"(Mul, output 'y')",
                                                 "the constant does not have one value for each channel"}});

std::string Folded(const std::string& body, std::string_view outputs = "float[1,2,2,2] y",
                   std::string_view weights = "100, 11, 12, -13, 14, 15, 0, -127") {
  return PassedGraph(ConvGraph(body, outputs, weights), {&kFuseQuantizedConvScale}, 1e-5).Operators();
}

constexpr const char* kLeft = "DequantizeLinear Conv";

TEST(FuseQuantizedConvScale, TakesNormalizationsAndWhatTorchPutsInFrontOfThem) {
  EXPECT_EQ(Folded(std::string(kWeights) + "k = Conv(x, wd) " + kNorm), kLeft);
  EXPECT_EQ(Folded(std::string(kWeights) + "q = Conv(x, wd, b) k = Div(q, c) " + kNorm), kLeft);
  EXPECT_EQ(Folded("wd = DequantizeLinear(w, s) k = Conv(x, wd) " + std::string(kNorm)), kLeft) << "one scale";
  EXPECT_EQ(Folded("bd = DequantizeLinear(bq, s) " + std::string(kWeights) + "k = Conv(x, wd, bd) " + kNorm), kLeft);
  EXPECT_EQ(Folded("wd = DequantizeLinear<axis = 0>(w, ws, wz) k = Conv(x, wd) " + std::string(kNorm)), kLeft);
}

TEST(FuseQuantizedConvScale, TakesConstantsOfEitherSignAndZero) {
  for (const char* node : {"y = Mul(k, c)", "y = Mul(c, k)", "y = Mul(k, d)", "y = Div(k, c)", "y = Add(k, c)",
                           "y = Add(five, k)", "y = Sub(k, d)", "y = Mul(k, five)"})
    EXPECT_EQ(Folded(std::string(kWeights) + "k = Conv(x, wd, b) " + node), kLeft) << node;
}

TEST(FuseQuantizedConvScale, KeepsTheIntegers) {
  const PassedGraph g(ConvGraph(std::string(kWeights) + "k = Conv(x, wd) y = Mul(k, c)"), {&kFuseQuantizedConvScale},
                      1e-5);
  EXPECT_NE(g.Text().find("{100, 11, 12, -13, -14, -15, 0, 127}"), std::string::npos) << g.Text();
}

TEST(FuseQuantizedConvScale, LeavesWhatItCannotFold) {
  EXPECT_EQ(Folded(std::string(kWeights) + "k = Conv(x, wd) y = Mul(k, image)"), "DequantizeLinear Conv Mul");
  EXPECT_EQ(Folded(std::string(kWeights) + "k = Conv(x, wd) y = Mul(k, c)", "float[1,2,2,2] y, float[1,2,2,2] k"),
            "DequantizeLinear Conv Mul");
  // -128 has no opposite number among the integers.
  EXPECT_EQ(Folded(std::string(kWeights) + "k = Conv(x, wd) y = Mul(k, c)", "float[1,2,2,2] y",
                   "100, 11, 12, -13, 14, 15, 0, -128"),
            "DequantizeLinear Conv Mul");
  // Two convolutions share the weights.
  EXPECT_EQ(Folded(std::string(kWeights) + "k = Conv(x, wd) z = Conv(x, wd) y = Mul(k, c)",
                   "float[1,2,2,2] y, float[1,2,2,2] z"),
            "DequantizeLinear Conv Conv Mul");
}

}  // namespace
}  // namespace sardonyx::optimizer
