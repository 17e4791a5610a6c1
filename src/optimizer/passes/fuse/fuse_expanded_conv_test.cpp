// optimizer/passes/fuse/fuse_expanded_conv_test.cpp - a 1x1 Conv and a depthwise one become ExpandedConv; near misses
// stay.
#include "ops/upgrade.h"
#include "optimizer/passes/passes.h"
#include "testing/pass_example.h"
#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::PreparedGraph;
using ::sardonyx::testing::RandomTensors;

const testing::PassExample kExample(
    "fuse_expanded_conv",
    {.changed = "g (float[1,4,4,2] x) => (float[1,4,4,3] y) <float[3,2,1,1] wide = {1, 2, 3, 4, 5, 6}, "
                "float[3,1,1,1] w = {1, -1, 2}> { m = com.ms.internal.nhwc.Conv(x, wide) "
                "y = com.ms.internal.nhwc.Conv<group = 3>(m, w) }",
     .left = "g (float[1,4,4,2] x) => (float[1,2,2,3] y) <float[3,2,1,1] wide = {1, 2, 3, 4, 5, 6}, "
             "float[3,1,1,1] w = {1, -1, 2}> { m = com.ms.internal.nhwc.Conv<strides = [2, 2]>(x, wide) "
             "y = com.ms.internal.nhwc.Conv<group = 3>(m, w) }",
     .reasons = {"Conv, output 'y')", "the 1x1 Conv has strides, pads or no channels"}});

const std::string kConstants =
    "<float[6,3,1,1] wide = {0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8, 0.9, -1, 0.2, 0.3, 0.5, 0.1, 0.2, 0.3, 0.4, "
    "0.5}, float[6,1,2,2] w = {0.5, -1, 1, 0.5, 1, 0.25, -1, -0.5, 1, -1, 0.5, -0.75, 0.5, -1, 1, 0.5, 1, 0.25, 2, "
    "-0.5, "
    "1, -1, 0.5, 3}, float[6] bias = {1, -1, 2, 0.5, 3, -4}, float[6,3,2,2] large = {0" +
    [] {
      std::string zeros;
      for (int i = 1; i < 72; ++i) zeros += ", 0";
      return zeros;
    }() +
    "}>";
constexpr const char* kWide =
    "m = com.ms.internal.nhwc.FusedConv<activation = \"Clip\", activation_params = [0.0, 0.8]>(x, wide, bias) ";
constexpr const char* kNarrow =
    "y = com.ms.internal.nhwc.FusedConv<group = 6, strides = [2, 1], pads = [1, 0, 1, 1], activation = \"Silu\">"
    "(m, w, bias)";

std::string Fused(const std::string& body, std::string_view outputs = "float[a,b,c,d] y", std::string* text = nullptr) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (float[2,5,6,3] x, float[2,5,6,6] z) => (" + std::string(outputs) + ") " + kConstants + " {" + body + "}",
      registry);
  const Graph before = graph;
  PassContext context{registry};
  RunVerified(kFuseExpandedConv, graph, context);
  ops::Infer(graph, registry);
  RandomTensors random;
  ExpectSameValues(
      graph, before, registry,
      {random.Uniform(DType::kFloat, Shape{2, 5, 6, 3}), random.Uniform(DType::kFloat, Shape{2, 5, 6, 6})});
  if (text != nullptr) *text = ToText(graph);
  return Operators(graph);
}

TEST(FuseExpandedConv, TakesActivationsAndBiasesOfBoth) {
  std::string text;
  EXPECT_EQ(Fused(std::string(kWide) + kNarrow, "float[a,b,c,d] y", &text), "ExpandedConv");
  EXPECT_NE(text.find("(x, wide, bias, w, bias)"), std::string::npos) << text;
  EXPECT_NE(text.find("wide_activation_params = [0.0, 0.8"), std::string::npos) << text;
  EXPECT_NE(text.find("float[2,3,6,6] y"), std::string::npos) << text;
}

TEST(FuseExpandedConv, TakesConvolutionsWithoutThem) {
  EXPECT_EQ(Fused("m = com.ms.internal.nhwc.Conv(x, wide) y = com.ms.internal.nhwc.Conv<group = 6>(m, w)"),
            "ExpandedConv");
}

TEST(FuseExpandedConv, LeavesOthersAlone) {
  const char* both = "FusedConv FusedConv";
  EXPECT_EQ(Fused(std::string(kWide) + kNarrow, "float[a,b,c,d] y, float[e,f,g,h] m"), both) << "an output between";
  EXPECT_EQ(Fused(std::string(kWide) + kNarrow + " v = Relu(m)", "float[a,b,c,d] y, float[e,f,g,h] v"),
            "FusedConv FusedConv Relu")
      << "another reader";
  EXPECT_EQ(Fused("m = com.ms.internal.nhwc.FusedConv(x, wide, bias, z) " + std::string(kNarrow)), both) << "a summand";
  EXPECT_EQ(Fused("m = com.ms.internal.nhwc.FusedConv<pads = [1, 0, 0, 0]>(x, wide, bias) " + std::string(kNarrow)),
            both)
      << "pads";
  EXPECT_EQ(Fused("m = com.ms.internal.nhwc.FusedConv<strides = [2, 2]>(x, wide, bias) " + std::string(kNarrow)), both)
      << "strides";
  EXPECT_EQ(Fused("m = com.ms.internal.nhwc.FusedConv(x, large, bias) " + std::string(kNarrow)), both) << "2x2";
  EXPECT_EQ(Fused(std::string(kWide) + "y = com.ms.internal.nhwc.Conv<group = 6, dilations = [2, 2]>(m, w, bias)"),
            "FusedConv Conv")
      << "dilations";
  EXPECT_EQ(Fused("m = com.ms.internal.nhwc.Conv<channels_first_output = 1>(x, wide) "
                  "y = com.ms.internal.nhwc.Conv<group = 6, channels_first_input = 1>(m, w)"),
            "Conv Conv")
      << "channels first between";
}

}  // namespace
}  // namespace sardonyx::optimizer
