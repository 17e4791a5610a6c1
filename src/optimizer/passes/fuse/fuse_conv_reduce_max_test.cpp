// optimizer/passes/fuse/fuse_conv_reduce_max_test.cpp - a 1x1 Conv or a product and a ReduceMax over positions become
// ConvReduceMax; near misses stay.
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
    "fuse_conv_reduce_max",
    {.changed = "g (float[1,4,2] x) => (float[1,3] y) <float[3,2,1] w = {1, 2, 3, 4, 5, 6}, int64[1] axes = {1}> "
                "{ m = com.ms.internal.nhwc.Conv(x, w) y = ReduceMax<keepdims = 0>(m, axes) }",
     .left = "g (float[1,4,2] x) => (float[1,4] y) <float[3,2,1] w = {1, 2, 3, 4, 5, 6}, int64[1] axes = {2}> "
             "{ m = com.ms.internal.nhwc.Conv(x, w) y = ReduceMax<keepdims = 0>(m, axes) }",
     .reasons = {"ReduceMax, output 'y')", "it does not reduce the axes before the last one"}});

constexpr const char* kConstants =
    "<float[4,3,1,1] w = {0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8, 0.9, -1, 0.2, 0.3}, "
    "float[4,3,1,2] wide = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2}, "
    "float[4,1,1,1] each = {1, -2, 3, -4}, "
    "float[3,4] b = {0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8, 0.9, -1, 0.2, 0.3}, "
    "float[4,3] bt = {0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8, 0.9, -1, 0.2, 0.3}, "
    "float[4] bias = {1, -1, 2, 0.5}, float[6,4] table = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, "
    "3, 4, 5, 6}, float[6,4] table6 = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, "
    "3, 4, 5, 6}, float[6,2] square6 = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3}, int64[2] both = {2, -3}, int64[1] one = "
    "{2}, int64[1] first = {1}, int64[2] channels = {2, 3}, "
    "int64[1] rows = {0}>";

// Of an image x, its sums z, rows r, and a matrix m that is not constant.
std::string Fused(const std::string& body, std::string_view outputs = "float[...] y", std::string* text = nullptr) {
  const ops::Registry registry;
  Graph graph = PreparedGraph("g (float[2,5,6,3] x, float[2,5,6,4] z, float[6,3] r, float[3,4] m) => (" +
                                  std::string(outputs) + ") " + kConstants + " {" + body + "}",
                              registry);
  const Graph before = graph;
  PassContext context{registry};
  RunVerified(kFuseConvReduceMax, graph, context);
  ops::Infer(graph, registry);
  RandomTensors random;
  const auto floats = [&](Shape shape) { return Value(random.Uniform(DType::kFloat, shape)); };
  ExpectSameValues(graph, before, registry,
                   {floats({2, 5, 6, 3}), floats({2, 5, 6, 4}), floats({6, 3}), floats({3, 4})});
  if (text != nullptr) *text = ToText(graph);
  return Operators(graph);
}

TEST(FuseConvReduceMax, TakesBiasAndActivationOfAConvolution) {
  std::string text;
  EXPECT_EQ(Fused("c = com.ms.internal.nhwc.FusedConv<activation = \"Clip\", activation_params = [-0.5, 0.8]>"
                  "(x, w, bias) y = ReduceMax(c, both)",
                  "float[a,b,c,d] y", &text),
            "ConvReduceMax");
  EXPECT_NE(text.find("(x, w, bias)"), std::string::npos) << text;
  EXPECT_NE(text.find("float[2,1,1,4] y"), std::string::npos) << text;
  EXPECT_EQ(Fused("c = com.ms.internal.nhwc.Conv(x, w) y = ReduceMax<keepdims = 0>(c, one)", "float[2,5,4] y"),
            "ConvReduceMax");
}

TEST(FuseConvReduceMax, TakesProducts) {
  EXPECT_EQ(Fused("c = MatMul(x, b) y = ReduceMax<keepdims = 0>(c, both)", "float[2,4] y"), "ConvReduceMax");
  EXPECT_EQ(Fused("c = ai.sardonyx.FusedMatMul<transB = 1, activation = \"LeakyRelu\", activation_alpha = 0.25>"
                  "(x, bt, bias) y = ReduceMax(c, one)",
                  "float[2,5,1,4] y"),
            "ConvReduceMax");
  EXPECT_EQ(
      Fused("c = com.microsoft.FusedGemm<activation = \"Relu\">(r, b, bias) y = ReduceMax(c, rows)", "float[1,4] y"),
      "ConvReduceMax");
}

TEST(FuseConvReduceMax, LeavesOthersAlone) {
  const std::string conv = "c = com.ms.internal.nhwc.Conv(x, w, bias) ", reduce = "y = ReduceMax(c, both)";
  const std::string four = "float[a,b,c,d] y";
  EXPECT_EQ(Fused(conv + "y = ReduceMax(c, first)", four), "Conv ReduceMax") << "an axis between stays";
  EXPECT_EQ(Fused(conv + "y = ReduceMax(c, channels)", four), "Conv ReduceMax") << "channels";
  EXPECT_EQ(Fused(conv + "y = ReduceMax(c)", four), "Conv ReduceMax") << "all axes";
  EXPECT_EQ(Fused(conv + reduce, four + ", float[e,f,g,h] c"), "Conv ReduceMax") << "an output between";
  EXPECT_EQ(Fused(conv + reduce + " v = Relu(c)", four + ", float[e,f,g,h] v"), "Conv ReduceMax Relu") << "a reader";
  EXPECT_EQ(Fused("c = com.ms.internal.nhwc.FusedConv(x, w, bias, z) " + reduce, four), "FusedConv ReduceMax")
      << "a summand";
  EXPECT_EQ(Fused("c = com.ms.internal.nhwc.Conv<strides = [2, 1]>(x, w) " + reduce, four), "Conv ReduceMax")
      << "strides";
  EXPECT_EQ(Fused("c = com.ms.internal.nhwc.Conv<pads = [0, 0, 1, 0]>(x, w) " + reduce, four), "Conv ReduceMax")
      << "pads";
  EXPECT_EQ(Fused("c = com.ms.internal.nhwc.Conv(x, wide) " + reduce, four), "Conv ReduceMax") << "a wider kernel";
  EXPECT_EQ(Fused("c = com.ms.internal.nhwc.Conv<group = 4>(z, each) " + reduce, four), "Conv ReduceMax") << "groups";
  EXPECT_EQ(Fused("c = com.ms.internal.nhwc.Conv<channels_first_output = 1>(x, w) " + reduce, four), "Conv ReduceMax")
      << "channels first";
}

TEST(FuseConvReduceMax, LeavesOtherProductsAlone) {
  EXPECT_EQ(Fused("c = MatMul(x, m) y = ReduceMax(c, one)", "float[a,b,c,d] y"), "MatMul ReduceMax") << "a variable";
  EXPECT_EQ(Fused("c = MatMul(x, b) y = ReduceMax(c, one) v = MatMul(r, b)", "float[a,b,c,d] y, float[e,f] v"),
            "MatMul ReduceMax MatMul")
      << "weights that others read";
  EXPECT_EQ(Fused("c = Gemm<alpha = 2.0>(r, b) y = ReduceMax(c, rows)", "float[1,4] y"), "Gemm ReduceMax") << "alpha";
  EXPECT_EQ(Fused("c = Gemm<beta = 2.0>(r, b, bias) y = ReduceMax(c, rows)", "float[1,4] y"), "Gemm ReduceMax")
      << "beta";
  EXPECT_EQ(Fused("c = Gemm<transA = 1>(table, table6) y = ReduceMax(c, rows)", "float[1,4] y"), "Gemm ReduceMax")
      << "the rows are columns";
  EXPECT_EQ(Fused("c = ai.sardonyx.FusedMatMul<transA = 1>(z, square6) y = ReduceMax(c, one)", "float[a,b,c,d] y"),
            "FusedMatMul ReduceMax")
      << "the rows are columns";
  EXPECT_EQ(Fused("c = Gemm(r, b, table) y = ReduceMax(c, rows)", "float[1,4] y"), "Gemm ReduceMax") << "a summand";
  EXPECT_EQ(Fused("c = ai.sardonyx.FusedMatMul(x, b, bias, z) y = ReduceMax(c, one)", "float[a,b,c,d] y"),
            "FusedMatMul ReduceMax")
      << "a residual";
}

}  // namespace
}  // namespace sardonyx::optimizer
