// optimizer/passes/quantization/fuse_conv_quantized_sum_test.cpp - QLinearConv and QLinearAdd become one; near misses
// stay.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::PreparedGraph;

constexpr const char* kConstants =
    "<float s = {0.03}, float same = {0.03}, float t = {0.05}, float u = {0.07}, uint8 z = {120}, uint8 k = {99}, "
    "int8 none = {0}, float[2] ws = {0.02, 0.01}, int8[2,2,1,1] w = {100, -50, 7, 127}, "
    "int8[2,1,1,1] deep = {100, -50}, int32[2] b = {300, -400}>";
constexpr const char* kConv = "com.ms.internal.nhwc.QLinearConv(x, s, z, w, ws, none, t, k, b) ";

Tensor Bytes(int step) {
  Tensor t(DType::kUInt8, Shape{1, 2, 3, 2});
  for (int i = 0; i < 12; ++i) t.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * step);
  return t;
}

std::string Fused(const std::string& body, std::string_view outputs = "uint8[1,2,3,2] y", std::string* text = nullptr) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (uint8[1,2,3,2] x, uint8[1,2,3,2] v) => (" + std::string(outputs) + ") " + kConstants + " {" + body + "}",
      registry);
  const Graph before = graph;
  PassContext context{registry};
  RunVerified(kFuseConvQuantizedSum, graph, context);
  ops::Infer(graph, registry);
  ExpectSameValues(graph, before, registry, {Bytes(23), Bytes(41)});
  if (text != nullptr) *text = ToText(graph);
  return Operators(graph);
}

std::string Sum(const char* inputs) { return std::string("y = com.microsoft.QLinearAdd(") + inputs + ")"; }

TEST(FuseConvQuantizedSum, TakesEitherSummand) {
  std::string text;
  EXPECT_EQ(Fused(std::string("c = ") + kConv + Sum("c, t, k, v, u, z, s, z"), "uint8[1,2,3,2] y", &text),
            "QLinearConvAdd");
  EXPECT_NE(text.find("y = ai.sardonyx.QLinearConvAdd(x, s, z, w, ws, none, t, k, b, v, u, z, s, z)"),
            std::string::npos)
      << text;
  EXPECT_EQ(Fused(std::string("c = ") + kConv + Sum("v, u, z, c, t, k, s, z"), "uint8[1,2,3,2] y", &text),
            "QLinearConvAdd");
  EXPECT_NE(text.find("y = ai.sardonyx.QLinearConvAdd <z_first = 1> (x, s, z, w, ws, none, t, k, b, v, u, z, s, z)"),
            std::string::npos)
      << text;
}

TEST(FuseConvQuantizedSum, TakesAConvolutionWithoutBiasAndASummandMadeLater) {
  EXPECT_EQ(Fused("c = com.ms.internal.nhwc.QLinearConv(x, s, z, w, ws, none, same, k) "
                  "d = com.microsoft.QLinearAdd(v, s, z, x, s, z, u, z) " +
                  Sum("c, s, k, d, u, z, t, k")),
            "QLinearAdd QLinearConvAdd");
}

TEST(FuseConvQuantizedSum, LeavesOtherSumsAlone) {
  const std::string conv = std::string("c = ") + kConv;
  const char* both = "QLinearConv QLinearAdd";
  EXPECT_EQ(Fused(conv + Sum("c, u, k, v, u, z, s, z")), both) << "another scale than the convolution's";
  EXPECT_EQ(Fused(conv + Sum("c, t, z, v, u, z, s, z")), both) << "another zero point";
  EXPECT_EQ(Fused(conv + Sum("c, t, k, v, u, z, s, z"), "uint8[1,2,3,2] y, uint8[1,2,3,2] c"), both);
  EXPECT_EQ(Fused(conv + Sum("c, t, k, c, t, k, s, z")), both) << "with itself";
  EXPECT_EQ(Fused("c = com.ms.internal.nhwc.QLinearConv<group = 2>(x, s, z, deep, ws, none, t, k, b) " +
                  Sum("c, t, k, v, u, z, s, z")),
            both)
      << "depthwise";
}

}  // namespace
}  // namespace sardonyx::optimizer
