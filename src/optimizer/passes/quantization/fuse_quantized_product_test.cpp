// optimizer/passes/quantization/fuse_quantized_product_test.cpp - Conv, MatMul and Gemm of quantized tensors become
// integer operators; those with other quantizations stay.
#include "testing/quantized_graph.h"

namespace sardonyx::optimizer {
namespace {

using testing::PassedGraph;

// x [1, 2, 3, 3] and weights [2, 2, 2, 2] with a scale for each channel; `more` are further constants.
std::string ConvGraph(std::string_view body, std::string_view more = "", std::string_view outputs = "float[1,2,2,2] y",
                      std::string_view type = "uint8", std::string_view zero = "120") {
  const std::string t(type), z(zero);
  return "g (float[1,2,3,3] x) => (" + std::string(outputs) + ") <float s = {0.03}, " + t + " z = {" + z +
         "}, float t = {0.07}, int8[2,2,2,2] w = {1,-2,3,40,50,-60,70,80,-90,100,11,12,-13,14,15,-128}, "
         "float[2] ws = {0.01, 0.02}, int8[2] wz = {0, 0}, int32[2] b = {100, -2000}, float[2] bs = {0.0003, 0.0006}, "
         "float[2] bf = {0.031, -1.2}" +
         std::string(more) + "> {" + std::string(body) + "}";
}

constexpr const char* kIn = "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) ";
constexpr const char* kWeights = "wd = DequantizeLinear<axis = 0>(w, ws, wz) ";
constexpr const char* kBias = "bd = DequantizeLinear<axis = 0>(b, bs) ";
constexpr const char* kOut = "yq = QuantizeLinear(c, t, z) y = DequantizeLinear(yq, t, z)";

std::string Body(std::string_view middle) { return std::string(kIn) + kWeights + kBias + std::string(middle) + kOut; }

constexpr const char* kFused = "QuantizeLinear QLinearConv DequantizeLinear";

TEST(FuseQuantizedProduct, MakesAConvolutionOfIntegersInEveryOpset) {
  for (const std::int64_t opset : {13, 19, 21, 23}) {
    const PassedGraph g(ConvGraph(Body("c = Conv<pads = [0, 0, 0, 0]>(xd, wd, bd) ")), {&kFuseQuantizedProduct}, 0.07,
                        opset);
    EXPECT_EQ(g.Operators(), kFused) << g.Text();
    EXPECT_NE(g.Text().find("(xq, s, z, w, ws, wz, t, z, b)"), std::string::npos) << g.Text();
  }
}

TEST(FuseQuantizedProduct, TakesInt8AndNoBiasAndFloatBiasAndOneScale) {
  const std::string signed_graph = ConvGraph(Body("c = Conv(xd, wd) "), "", "float[1,2,2,2] y", "int8", "-7");
  EXPECT_EQ(PassedGraph(signed_graph, {&kFuseQuantizedProduct}, 0.07).Operators(), kFused);
  const PassedGraph floats(ConvGraph(Body("c = Conv(xd, wd, bf) ")), {&kFuseQuantizedProduct}, 0.07);
  EXPECT_EQ(floats.Operators(), kFused);
  EXPECT_NE(floats.Text().find("{103, -2000}"), std::string::npos) << floats.Text();
  const std::string one = std::string(kIn) + "wd = DequantizeLinear(w, s) c = Conv(xd, wd) " + kOut;
  EXPECT_EQ(PassedGraph(ConvGraph(one), {&kFuseQuantizedProduct}, 0.07).Operators(), kFused);
}

TEST(FuseQuantizedProduct, GivesABiasOfAnotherScaleTheRightOne) {
  const PassedGraph g(ConvGraph(Body("be = DequantizeLinear<axis = 0>(b, be_scale) c = Conv(xd, wd, be) "),
                                ", float[2] be_scale = {0.0006, 0.0006}"),
                      {&kFuseQuantizedProduct}, 0.07);
  EXPECT_EQ(g.Operators(), kFused);
  EXPECT_NE(g.Text().find("{200, -2000}"), std::string::npos) << g.Text();
}

TEST(FuseQuantizedProduct, KeepsABiasInFloatThatACoarseGridWouldMove) {
  const auto operators = [](std::string_view bias) {
    const std::string middle = "c = Conv(xd, wd, " + std::string(bias) + ") ";
    const std::string text = std::string(kIn) + "wd = DequantizeLinear<axis = 0>(w, coarse, wz) " + middle + kOut;
    std::string graph =
        ConvGraph(text, ", float[2] coarse = {1, 1}, float[2] near = {0.061, -1.2}, float[2] far = {0.045, 0}");
    if (bias == "u") graph.replace(graph.find("(float[1,2,3,3] x)"), 18, "(float[1,2,3,3] x, float[2] u)");
    return PassedGraph(graph, {&kFuseQuantizedProduct}, 1e9).Operators();
  };
  EXPECT_EQ(operators("near"), kFused);
  constexpr const char* kFloatBias = "QuantizeLinear ConvInteger Cast Mul Add QuantizeLinear DequantizeLinear";
  EXPECT_EQ(operators("far"), kFloatBias);
  EXPECT_EQ(operators("u"), "QuantizeLinear ConvInteger Cast Mul Reshape Add QuantizeLinear DequantizeLinear");
}

TEST(FuseQuantizedProduct, LeavesConvolutionsThatAreNotQuantizedThroughout) {
  const std::string stays = "QuantizeLinear DequantizeLinear DequantizeLinear";
  // Scales of another axis.
  const std::string along_inputs = std::string(kIn) + "wd = DequantizeLinear<axis = 1>(w, ws, wz) c = Conv(xd, wd) ";
  EXPECT_EQ(PassedGraph(ConvGraph(along_inputs + kOut), {&kFuseQuantizedProduct}).Operators(),
            stays + " Conv QuantizeLinear DequantizeLinear");
}

constexpr const char* kDynamic = "xq, u, uz = DynamicQuantizeLinear(x) xd = DequantizeLinear(xq, u, uz) ";

TEST(FuseQuantizedProduct, SumsIntegersWhereScalesAreKnownWhileRunning) {
  // A result that is quantized again, one that is not, a bias that is added, an input as scale.
  const std::string dynamic = kDynamic, middle = "c = Conv(xd, wd, bf) ";
  const PassedGraph again(ConvGraph(dynamic + kWeights + middle + kOut), {&kFuseQuantizedProduct}, 0.07);
  EXPECT_EQ(again.Operators(), "DynamicQuantizeLinear ConvInteger Cast Mul Mul Add QuantizeLinear DequantizeLinear");
  const PassedGraph open(ConvGraph(dynamic + "wd = DequantizeLinear(w, s) y = Conv(xd, wd)"), {&kFuseQuantizedProduct},
                         1e-4);
  EXPECT_EQ(open.Operators(), "DynamicQuantizeLinear ConvInteger Cast Mul Mul");
  std::string given = ConvGraph(Body("c = Conv(xd, wd) "));
  given.replace(given.find("(float[1,2,3,3] x)"), 18, "(float[1,2,3,3] x, float[1] u)");
  given.replace(given.find("QuantizeLinear(x, s, z)"), 23, "QuantizeLinear(x, u, z)");
  given.replace(given.find("DequantizeLinear(xq, s, z)"), 26, "DequantizeLinear(xq, u, z)");
  EXPECT_EQ(PassedGraph(given, {&kFuseQuantizedProduct}, HUGE_VAL).Operators(),
            "QuantizeLinear ConvInteger Cast Mul Mul QuantizeLinear DequantizeLinear");
}

TEST(FuseQuantizedProduct, SumsIntegersWhereTheResultOfAConvolutionStaysFloat) {
  // Another reader of the float result; a result that is not quantized at all.
  const PassedGraph read(ConvGraph(Body("c = Conv(xd, wd) "), "", "float[1,2,2,2] y, float[1,2,2,2] c"),
                         {&kFuseQuantizedProduct}, 1e-5);
  EXPECT_EQ(read.Operators(), "QuantizeLinear ConvInteger Cast Mul QuantizeLinear DequantizeLinear");
  const PassedGraph open(ConvGraph(std::string(kIn) + kWeights + "y = Conv<pads = [0, 0, 0, 0]>(xd, wd, bf)"),
                         {&kFuseQuantizedProduct}, 1e-5);
  EXPECT_EQ(open.Operators(), "QuantizeLinear ConvInteger Cast Mul Add");
  const PassedGraph one(ConvGraph(std::string(kIn) + "wd = DequantizeLinear(w, s) y = Conv(xd, wd)", "",
                                  "float[1,2,2,2] y", "int8", "-7"),
                        {&kFuseQuantizedProduct}, 1e-5);
  EXPECT_EQ(one.Operators(), "QuantizeLinear ConvInteger Cast Mul");
  // A bias that no int32 holds.
  const PassedGraph large(ConvGraph(Body("c = Conv(xd, wd, large) "), ", float[2] large = {1e9, 0}"),
                          {&kFuseQuantizedProduct}, 1e-5);
  EXPECT_EQ(large.Operators(), "QuantizeLinear ConvInteger Cast Mul Add QuantizeLinear DequantizeLinear");
  const PassedGraph depthwise(
      ConvGraph(std::string(kIn) + "wd = DequantizeLinear<axis = 0>(d, ws, wz) y = Conv<group = 2>(xd, wd)",
                ", int8[2,1,2,2] d = {1, 2, 3, 4, 5, 6, 7, 8}"),
      {&kFuseQuantizedProduct});
  EXPECT_EQ(depthwise.Operators(), "QuantizeLinear DequantizeLinear DequantizeLinear Conv");
}

TEST(FuseQuantizedProduct, TakesABiasOf8BitsAndOneThatIsAnInput) {
  const PassedGraph bytes(ConvGraph(Body("be = DequantizeLinear<axis = 0>(b8, bs8, bz8) c = Conv(xd, wd, be) "),
                                    ", int8[2] b8 = {50, -20}, float[2] bs8 = {0.003, 0.006}, int8[2] bz8 = {5, 0}"),
                          {&kFuseQuantizedProduct}, 0.07);
  EXPECT_EQ(bytes.Operators(), kFused);
  EXPECT_NE(bytes.Text().find("{450, -200}"), std::string::npos) << bytes.Text();
  std::string given = ConvGraph(Body("c = Conv(xd, wd, u) "));
  given.replace(given.find("(float[1,2,3,3] x)"), 18, "(float[1,2,3,3] x, float[2] u)");
  EXPECT_EQ(PassedGraph(given, {&kFuseQuantizedProduct}, 0.07).Operators(),
            "QuantizeLinear Div Clip Round Cast Max QLinearConv DequantizeLinear");
}

TEST(FuseQuantizedProduct, TakesDequantizedTensorsThatOthersReadToo) {
  const PassedGraph g(ConvGraph(Body("c = Conv(xd, wd) v = Abs(wd) u = Abs(xd) "), "",
                                "float[1,2,2,2] y, float[2,2,2,2] v, float[1,2,3,3] u"),
                      {&kFuseQuantizedProduct}, 0.07);
  EXPECT_NE(g.Operators().find("QLinearConv"), std::string::npos) << g.Text();
  EXPECT_EQ(g.Operators().find(" Conv"), std::string::npos) << g.Text();
}

std::string MatMulGraph(std::string_view body) {
  return "g (float[2,2,3] x) => (float[2,2,2] y) <float s = {0.03}, uint8 z = {120}, float t = {0.09}, "
         "int8[3,2] w = {1,-2,3,40,-128,100}, float[2] ws = {0.01, 0.02}, int8[2] wz = {3, -4}, float one = {0.02}, "
         "float[2] bias = {0.5, -0.25}, float[2,2] square = {1, 2, 3, 4}> {" +
         std::string(kIn) + std::string(body) + "}";
}

TEST(FuseQuantizedProduct, MakesProductsOfIntegers) {
  for (const char* weights : {"wd = DequantizeLinear<axis = 1>(w, ws, wz) ", "wd = DequantizeLinear<axis = -1>(w, ws) ",
                              "wd = DequantizeLinear(w, one) "}) {
    const PassedGraph g(MatMulGraph(std::string(weights) + "c = MatMul(xd, wd) " + kOut), {&kFuseQuantizedProduct},
                        0.09);
    EXPECT_EQ(g.Operators(), "QuantizeLinear QLinearMatMul DequantizeLinear") << g.Text();
  }
  // Scales along the axis that is summed over.
  std::string rows = MatMulGraph("wd = DequantizeLinear<axis = 0>(w, rs) c = MatMul(xd, wd) " + std::string(kOut));
  rows.replace(rows.find("float one"), 9, "float[3] rs = {0.01, 0.02, 0.03}, float one");
  EXPECT_NE(PassedGraph(rows, {&kFuseQuantizedProduct}).Operators().find(" MatMul "), std::string::npos);
}

TEST(FuseQuantizedProduct, MakesAFloatProductWithBiasInEitherOrder) {
  for (const char* sum : {"y = Add(c, bias)", "y = Add(bias, c)"}) {
    const PassedGraph g(
        MatMulGraph(std::string("wd = DequantizeLinear<axis = 1>(w, ws, wz) c = MatMul(xd, wd) ") + sum),
        {&kFuseQuantizedProduct}, 1e-5);
    EXPECT_EQ(g.Operators(), "QuantizeLinear MatMulIntegerToFloat") << g.Text();
  }
  const PassedGraph g(MatMulGraph("wd = DequantizeLinear<axis = 1>(w, ws, wz) c = MatMul(xd, wd) y = Add(c, square)"),
                      {&kFuseQuantizedProduct}, 1e-5);
  EXPECT_EQ(g.Operators(), "QuantizeLinear MatMulIntegerToFloat Add") << g.Text();
}

TEST(FuseQuantizedProduct, MakesAGemmOfIntegers) {
  const auto gemm = [&](std::string_view attributes, std::string_view out, std::string_view bias = "0.5, -0.25") {
    return "g (float[2,3] x) => (float[2,2] y) <float s = {0.03}, uint8 z = {120}, float t = {0.09}, "
           "int8[2,3] w = {1,-2,3,40,-128,100}, float[2] ws = {0.01, 0.02}, float[2] bias = {" +
           std::string(bias) + "}> {" + std::string(kIn) +
           "wd = DequantizeLinear<axis = 0>(w, ws) c = Gemm<transB = 1" + std::string(attributes) + ">(xd, wd, bias) " +
           std::string(out) + "}";
  };
  EXPECT_EQ(PassedGraph(gemm("", kOut), {&kFuseQuantizedProduct}, 0.09).Operators(),
            "QuantizeLinear QGemm DequantizeLinear");
  EXPECT_EQ(PassedGraph(gemm(", alpha = 0.5", kOut), {&kFuseQuantizedProduct}, 0.09).Operators(),
            "QuantizeLinear QGemm DequantizeLinear");
  EXPECT_EQ(PassedGraph(gemm("", "y = Abs(c)", "0.6, -0.3"), {&kFuseQuantizedProduct}, 1e-5).Operators(),
            "QuantizeLinear QGemm Abs");
  // A bias that integers would round, where the result shows it.
  const PassedGraph open(gemm("", "y = Abs(c)", "0.5, -0.25011"), {&kFuseQuantizedProduct, &kFoldConstants}, 1e-5);
  EXPECT_EQ(open.Operators(), "QuantizeLinear MatMulIntegerToFloat Abs");
  EXPECT_EQ(PassedGraph(gemm(", alpha = 0.5", "y = Abs(c)", "0.5, -0.25011"), {&kFuseQuantizedProduct}).Operators(),
            "QuantizeLinear DequantizeLinear DequantizeLinear Gemm Abs");
  EXPECT_EQ(PassedGraph(gemm(", beta = 2.0", kOut), {&kFuseQuantizedProduct}).Operators(),
            "QuantizeLinear DequantizeLinear DequantizeLinear Gemm QuantizeLinear DequantizeLinear");
}

TEST(FuseQuantizedProduct, MultipliesIntegersWhereScalesAreKnownWhileRunning) {
  const std::string dynamic = kDynamic;
  const auto passed = [&](std::string_view shape, std::string_view body) {
    const std::string text = "g (float[" + std::string(shape) +
                             "] x) => (float[p,q] y) <int8[3,2] w = {1,-2,3,40,-128,100}, float[2] ws = {0.01, 0.02}, "
                             "int8[2] wz = {3, -4}, int8[2,3] v = {1,-2,3,40,-128,100}, float[2] bias = {0.5, -0.25}, "
                             "float[3] rows = {0.01, 0.02, 0.03}> {" +
                             dynamic + std::string(body) + "}";
    return PassedGraph(text, {&kFuseQuantizedProduct, &kFoldConstants}, 1e-4).Operators();
  };
  const std::string weights = "wd = DequantizeLinear<axis = 1>(w, ws, wz) ",
                    kProduct = "DynamicQuantizeLinear MatMulIntegerToFloat";
  EXPECT_EQ(passed("2,3", weights + "y = MatMul(xd, wd)"), kProduct);
  EXPECT_EQ(passed("2,3", weights + "c = MatMul(xd, wd) y = Add(bias, c)"), kProduct);
  EXPECT_EQ(passed("2,3", weights + "y = Gemm(xd, wd)"), kProduct);
  EXPECT_EQ(passed("2,3", "vd = DequantizeLinear<axis = 0>(v, ws) y = Gemm<transB = 1>(xd, vd, bias)"), kProduct);
  EXPECT_EQ(passed("2,2",
                   "xt = Transpose<perm = [1, 0]>(x) tq, t, tz = DynamicQuantizeLinear(xt) "
                   "td = DequantizeLinear(tq, t, tz) y = MatMul(xd, td)"),
            "DynamicQuantizeLinear Transpose DynamicQuantizeLinear MatMulIntegerToFloat");
  // Scales along the axis that is summed over; factors that the operator lacks.
  const std::string stays = "DynamicQuantizeLinear DequantizeLinear ";
  EXPECT_EQ(passed("2,3", "wd = DequantizeLinear<axis = 0>(w, rows) y = MatMul(xd, wd)"), stays + "MatMul");
  EXPECT_EQ(passed("2,3", weights + "y = Gemm<alpha = 0.5>(xd, wd)"), stays + "Gemm");
  EXPECT_EQ(passed("2,3", weights + "y = Gemm<beta = 2.0>(xd, wd, bias)"), stays + "Gemm");
}

}  // namespace
}  // namespace sardonyx::optimizer
