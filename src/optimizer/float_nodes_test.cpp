// optimizer/float_nodes_test.cpp - `--explain` names every node that stays in float between quantized
// ones, and what is quantized throughout is not named.
#include <gtest/gtest.h>

#include "optimizer/pipeline.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

// What is explained of x and v, quantized, `body`, and r, which is quantized again.
std::string Explained(std::string_view body) {
  const ops::Registry registry;
  Graph graph = testing::GraphOf(
      "<ir_version: 10, opset_import: [\"\" : 19]> g (float[1,2,4,4] x, float[1,2,4,4] v) => (uint8[p,q,m,n] y) "
      "<float s = {0.03}, uint8 z = {120}, int8[2,2,1,1] w = {1, -2, 3, 4}, float[2] ws = {0.01, 0.02}, "
      "float[2] g = {1, 2}, int64[3] shape = {1, 2, 16}> { "
      "xq = QuantizeLinear(x, s, z) xd = DequantizeLinear(xq, s, z) "
      "wd = DequantizeLinear<axis = 0>(w, ws) " +
          std::string(body) + " y = QuantizeLinear(r, s, z) }",
      registry);
  Explanation explanation;
  OptimizeOptions options;
  options.level = Level::kExtended;
  options.explanation = &explanation;
  testing::RunPipeline(graph, registry, options);
  return explanation.ToText();
}

constexpr const char* kStays = "stays in float between quantized nodes";

TEST(FloatNodes, NamesOperatorsWithoutAnIntegerForm) {
  const std::string text = Explained("r = InstanceNormalization(xd, g, g)");
  EXPECT_NE(text.find("InstanceNormalization"), std::string::npos) << text;
  EXPECT_NE(text.find("it stays in float between quantized nodes: InstanceNormalization has no form of 8-bit integers"),
            std::string::npos)
      << text;
}

TEST(FloatNodes, NamesWhatStandsBehindThem) {
  const std::string text = Explained("i = InstanceNormalization(xd, g, g) c = Conv(i, wd) r = Relu(c)");
  EXPECT_NE(
      text.find("(Conv, output 'c'): not changed: it stays in float between quantized nodes: 'i' is made in float by"),
      std::string::npos)
      << text;
  const std::string sum = Explained("i = InstanceNormalization(xd, g, g) a = Add(i, v) r = Transpose(a)");
  EXPECT_NE(sum.find("(Add, output 'a'): not changed: it stays in float between quantized nodes: 'i' is made in float"),
            std::string::npos)
      << sum;
}

TEST(FloatNodes, KnowsThatPoolsOfIntegersExist) {
  const std::string text =
      Explained("i = InstanceNormalization(xd, g, g) m = MaxPool<kernel_shape = [2, 2]>(i) r = Neg(m)");
  EXPECT_NE(text.find("(MaxPool, output 'm'): not changed: it stays in float between quantized nodes: 'i' is made in"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("MaxPool has no form"), std::string::npos) << text;
}

TEST(FloatNodes, NamesNothingThatRunsOnIntegers) {
  for (const char* body : {"c = Conv(xd, wd) r = Relu(c)", "c = Sigmoid(xd) r = Transpose(c)",
                           "c = Conv(xd, wd, g) r = Add(c, xd)", "r = AveragePool<kernel_shape = [2, 2]>(xd)"}) {
    const std::string text = Explained(body);
    EXPECT_EQ(text.find(kStays), std::string::npos) << text;
  }
  // The sums of that convolution are of integers; what is added to them is not.
  const std::string text = Explained("c = Conv(xd, wd, g) r = Add(c, xd)");
  EXPECT_NE(text.find("(Add, output 'r'): not changed: QLinearAdd takes 8-bit operands"), std::string::npos) << text;
}

TEST(FloatNodes, NamesNothingInFloatModels) {
  const std::string text = Explained("f = InstanceNormalization(v, g, g) r = Abs(f)");
  EXPECT_EQ(text.find(kStays), std::string::npos) << text;
}

}  // namespace
}  // namespace sardonyx::optimizer
