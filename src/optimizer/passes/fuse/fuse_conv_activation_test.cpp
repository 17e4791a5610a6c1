// optimizer/passes/fuse/fuse_conv_activation_test.cpp - Conv with a sum and an activation becomes FusedConv; near
// misses stay.
#include "ops/upgrade.h"
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::PreparedGraph;

constexpr const char* kConstants =
    "<float[2,2,1,1] w = {1, -2, 3, 4}, float[2] b = {0.5, -0.5}, float low = {-1}, float six = {6}, "
    "float[1,2,1,1] row = {1, 2}>";

std::string Fused(std::string_view body, std::string_view outputs = "float[1,2,2,2] y", std::string* text = nullptr) {
  const ops::Registry registry;
  Graph graph = PreparedGraph("g (float[1,2,2,2] x, float[1,2,2,2] z) => (" + std::string(outputs) + ") " + kConstants +
                                  " {" + std::string(body) + "}",
                              registry);
  ops::Upgrade(graph, registry);
  const Graph before = graph;
  PassContext context{registry};
  RunVerified(kFuseConvActivation, graph, context);
  ops::Infer(graph, registry);
  ExpectSameValues(graph, before, registry,
                   {Tensor::Of<float>({1, -2, 3, 4, 5, 6, -7, 8}, Shape{1, 2, 2, 2}),
                    Tensor::Of<float>({-9, 8, -7, 6, -5, 4, -3, 2}, Shape{1, 2, 2, 2})});
  if (text != nullptr) *text = ToText(graph);
  return Operators(graph);
}

TEST(FuseConvActivation, MakesOneNodeOfConvSumAndRelu) {
  std::string text;
  EXPECT_EQ(Fused("c = Conv(x, w, b) s = Add(z, c) y = Relu(s)", "float[1,2,2,2] y", &text), "FusedConv");
  EXPECT_NE(text.find("y = com.microsoft.FusedConv <activation = \"Relu\"> (x, w, b, z)"), std::string::npos) << text;
}

TEST(FuseConvActivation, KnowsEveryActivationOfTheKernels) {
  for (const char* activation :
       {"Relu(c)", "Sigmoid(c)", "Tanh(c)", "HardSwish(c)", "HardSigmoid(c)", "HardSigmoid<alpha = 0.3, beta = 0.4>(c)",
        "LeakyRelu(c)", "LeakyRelu<alpha = 0.3>(c)", "Clip(c, low, six)", "Clip(c, low)", "Clip(c)", "Swish(c)",
        "Gelu(c)", "com.microsoft.QuickGelu<alpha = 1.0>(c)", "com.microsoft.QuickGelu(c)", "com.microsoft.FastGelu(c)",
        "Gelu<approximate = \"tanh\">(c)", "com.microsoft.Gelu(c)"}) {
    EXPECT_EQ(Fused(std::string("c = Conv(x, w) y = ") + activation), "FusedConv") << activation;
  }
}

TEST(FuseConvActivation, WritesTheParametersThatTheActivationHas) {
  for (const auto& [activation, want] :
       {std::pair("Relu(c)", "<activation = \"Relu\">"),
        std::pair("LeakyRelu<alpha = 0.25>(c)", "<activation = \"LeakyRelu\", activation_params = [0.25]>"),
        std::pair("HardSigmoid<alpha = 0.25>(c)", "<activation = \"HardSigmoid\", activation_params = [0.25, 0.5]>"),
        std::pair("Clip(c, low, six)", "<activation = \"Clip\", activation_params = [-1.0, 6.0]>")}) {
    std::string text;
    EXPECT_EQ(Fused(std::string("c = Conv(x, w) y = ") + activation, "float[1,2,2,2] y", &text), "FusedConv");
    EXPECT_NE(text.find(want), std::string::npos) << text;
  }
}

TEST(FuseConvActivation, TakesASummandThatIsMadeLater) {
  EXPECT_EQ(Fused("c = Conv(x, w, b) d = Abs(z) y = Add(c, d)"), "Abs FusedConv");
}

TEST(FuseConvActivation, FusesOneOfTwoConvsThatAreAdded) {
  EXPECT_EQ(Fused("c = Conv(x, w, b) d = Conv(z, w) s = Add(c, d) y = Relu(s)"), "Conv FusedConv");
}

TEST(FuseConvActivation, LeavesBroadcastSumsAndOtherActivationsAlone) {
  EXPECT_EQ(Fused("c = Conv(x, w) y = Add(c, row)"), "Conv Add");
  for (const char* other : {"Elu", "Selu", "Softplus", "Softsign", "ThresholdedRelu", "Celu"})
    EXPECT_EQ(Fused("c = Conv(x, w) y = " + std::string(other) + "(c)"), "Conv " + std::string(other));
  EXPECT_EQ(Fused("c = Conv(x, w) y = Clip(c, six, low)"), "Conv Clip");
  EXPECT_EQ(Fused("c = Conv(x, w) y = Add(c, c)"), "Conv Add");
}

TEST(FuseConvActivation, LeavesAConvWithAnotherReaderAlone) {
  EXPECT_EQ(Fused("c = Conv(x, w) y = Relu(c)", "float[1,2,2,2] y, float[1,2,2,2] c"), "Conv Relu");
}

}  // namespace
}  // namespace sardonyx::optimizer
