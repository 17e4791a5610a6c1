// optimizer/passes/quantization/fuse_block_quantized_product_test.cpp - weights in blocks of integers of every type,
// with and without zero points, also with a last block that is not full; near misses stay.
#include "optimizer/passes/passes.h"
#include "testing/fusion_matrix.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::InputsFor;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::RandomTensors;

struct Weights {
  std::string dtype = "int4";
  int k = 64, n = 5, block = 32;
  bool zeros = false;
};

std::string List(int count, int low, int high, const char* suffix = "") {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(low + (i * 7 + i / 5) % (high - low + 1)) + suffix;
  return text;
}

std::string TextOf(const Weights& w, const std::string& body =
                                         "d = DequantizeLinear<axis = 0, block_size = $b>(w, s$z) y = MatMul(x, d)") {
  const int low = w.dtype[0] == 'u' ? 0 : (w.dtype == "int4" ? -8 : -128);
  const int high = low + (w.dtype.back() == '4' ? 15 : 255), blocks = (w.k + w.block - 1) / w.block;
  const std::string parameters = "[" + std::to_string(blocks) + "," + std::to_string(w.n) + "] ";
  std::string text = "g (float[b,r," + std::to_string(w.k) + "] x) => (float[b,r,m] y) <" + w.dtype + "[" +
                     std::to_string(w.k) + "," + std::to_string(w.n) + "] w = {" + List(w.k * w.n, low, high) +
                     "}, float" + parameters + "s = {" + List(blocks * w.n, 1, 9, ".0") + "}";
  if (w.zeros) text += ", " + w.dtype + parameters + "z = {" + List(blocks * w.n, low, high) + "}";
  text += "> { " + body + " }";
  text = testing::ReplaceAll(text, "$b", std::to_string(w.block));
  return testing::ReplaceAll(text, "$z", w.zeros ? ", z" : "");
}

std::string Left(const std::string& text, std::int64_t accuracy = 1) {
  SCOPED_TRACE(text);
  const ops::Registry registry;
  RandomTensors random;
  Graph graph = GraphOf(text, registry);
  const Graph before = graph;
  PassContext context{registry};
  context.block_product_accuracy = accuracy;
  RunVerified(kFuseBlockQuantizedProduct, graph, context);
  for (const std::int64_t rows : {4, 1, 0})
    testing::ExpectSameValues(graph, before, registry, InputsFor(before, {{"b", 2}, {"r", rows}}, random));
  return Operators(graph);
}

TEST(FuseBlockQuantizedProduct, ReadsIntegersOfEveryType) {
  for (const char* dtype : {"int4", "uint4", "int8", "uint8"}) {
    for (const bool zeros : {false, true}) {
      for (const auto& [k, n, block] : {std::tuple(64, 5, 32), std::tuple(48, 3, 16), std::tuple(40, 3, 16),
                                        std::tuple(32, 1, 32), std::tuple(128, 4, 128)})
        EXPECT_EQ(Left(TextOf({dtype, k, n, block, zeros})), "MatMulNBits");
    }
  }
}

TEST(FuseBlockQuantizedProduct, TakesTheAccuracyOfTheSession) {
  const ops::Registry registry;
  for (const std::int64_t accuracy : {0, 1, 4}) {
    Graph graph = GraphOf(TextOf({}), registry);
    PassContext context{registry};
    context.block_product_accuracy = accuracy;
    RunVerified(kFuseBlockQuantizedProduct, graph, context);
    EXPECT_NE(ToText(graph).find("accuracy_level = " + std::to_string(accuracy)), std::string::npos) << ToText(graph);
  }
}

TEST(FuseBlockQuantizedProduct, TheWholePipelineKeepsTheIntegers) {
  const ops::Registry registry;
  Graph graph = GraphOf(TextOf({"uint4", 64, 5, 16, true}), registry);
  testing::RunPipeline(graph, registry, {});
  EXPECT_EQ(Operators(graph), "MatMulNBits");
  graph = GraphOf(TextOf({}), registry);
  OptimizeOptions basic;
  basic.level = Level::kBasic;
  testing::RunPipeline(graph, registry, basic);
  EXPECT_EQ(Operators(graph), "MatMul") << "the basic level has floats";
}

TEST(FuseBlockQuantizedProduct, LeavesOtherProducts) {
  const std::string kept = "DequantizeLinear MatMul";
  EXPECT_EQ(Left(TextOf({.block = 8})), kept) << "blocks are too small";
  EXPECT_EQ(Left(testing::ReplaceAll(
                TextOf({.k = 32, .n = 32}, "d = DequantizeLinear<axis = 1, block_size = $b>(w, t) y = MatMul(x, d)"),
                "> {", ", float[32,1] t = {" + List(32, 1, 9, ".0") + "}> {")),
            kept)
      << "blocks along the other axis";
  EXPECT_EQ(
      Left(TextOf(
          {}, "d = DequantizeLinear<axis = 0, block_size = $b>(w, s) a = MatMul(x, d) e = ReduceSum(d) y = Add(a, e)")),
      "DequantizeLinear MatMul ReduceSum Add")
      << "others read the floats";
  EXPECT_EQ(Left(TextOf({.k = 32, .n = 32},
                        "d = DequantizeLinear<axis = 0, block_size = $b>(w, s) t = Transpose<perm = [0, 2, 1]>(x) y = "
                        "MatMul(d, t)"))
                .find("NBits"),
            std::string::npos)
      << "the first operand";
}

}  // namespace
}  // namespace sardonyx::optimizer
