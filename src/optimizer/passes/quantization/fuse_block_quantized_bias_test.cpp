// optimizer/passes/quantization/fuse_block_quantized_bias_test.cpp - MatMulNBits takes a constant row that is added to
// its result; near misses stay.
#include "optimizer/passes/passes.h"
#include "testing/fusion_matrix.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::InputsFor;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::ReplaceAll;

constexpr const char* kProduct = "p = com.microsoft.MatMulNBits<K = 16, N = 3, block_size = 16, bits = 4>(x, w, s) ";

// Weights [3, 16] of 4 bits, and constants that a sum may have; $t is the element type.
std::string TextOf(const std::string& body, const std::string& dtype = "float",
                   const std::string& outputs = "$t[b,r,m] y") {
  const std::string text =
      "g ($t[b,r,16] x, $t[3] v) => (" + outputs +
      ") <uint8[3,1,8] w = {1, 35, 69, 103, 137, 171, 205, 239, 16, 50, 84, 118, 152, 186, 220, 254, 7, 9, 130, 200, "
      "33, "
      "64, 255, 0}, $t[3,1] s = {0.5, 0.25, 1.0}, $t[3] row = {0.5, -1.0, 2.0}, $t[1,3] wide = {1.0, 4.0, -2.0}, "
      "$t[1,1,3] cube = {3.0, 0.25, -8.0}, $t[1,1,1,3] more = {3.0, 0.25, -8.0}, $t[1] one = {4.0}, $t scalar = {2.0}> "
      "{" +
      body + "}";
  return ReplaceAll(text, "$t", dtype);
}

// The operators that the pass leaves and, in `text`, the whole graph.
std::string Left(const std::string& source, std::string* text = nullptr) {
  SCOPED_TRACE(source);
  const ops::Registry registry;
  RandomTensors random;
  Graph graph = GraphOf(source, registry);
  const Graph before = graph;
  PassContext context{registry};
  RunVerified(kFuseBlockQuantizedBias, graph, context);
  for (const std::int64_t rows : {4, 1, 0})
    testing::ExpectSameValues(graph, before, registry, InputsFor(before, {{"b", 2}, {"r", rows}}, random));
  if (text != nullptr) *text = ToText(graph);
  return Operators(graph);
}

TEST(FuseBlockQuantizedBias, TakesAConstantRowInEitherOrder) {
  for (const char* dtype : {"float", "float16", "bfloat16"}) {
    for (const char* sum : {"Add(p, row)", "Add(row, p)", "Add(p, wide)", "Add(cube, p)"})
      EXPECT_EQ(Left(TextOf(std::string(kProduct) + "y = " + sum, dtype)), "MatMulNBits") << sum;
  }
}

// ONNX Runtime refuses a bias [1, N].
TEST(FuseBlockQuantizedBias, MakesAVectorOfTheRow) {
  std::string text;
  EXPECT_EQ(Left(TextOf(std::string(kProduct) + "y = Add(p, cube)"), &text), "MatMulNBits");
  EXPECT_NE(text.find("(x, w, s, \"\", \"\", cube_1)"), std::string::npos) << text;
  EXPECT_NE(text.find("float[3] cube_1 = {3, 0.25, -8}"), std::string::npos) << text;
}

TEST(FuseBlockQuantizedBias, KeepsABiasThatIsThere) {
  const std::string biased =
      "p = com.microsoft.MatMulNBits<K = 16, N = 3, block_size = 16, bits = 4>(x, w, s, , , row) ";
  EXPECT_EQ(Left(TextOf(biased + "y = Add(p, row)")), "MatMulNBits Add");
  EXPECT_EQ(Left(TextOf(std::string(kProduct) + "q = Add(p, row) y = Add(q, wide)")), "MatMulNBits Add");
}

TEST(FuseBlockQuantizedBias, LeavesOtherSumsAlone) {
  for (const char* sum : {"Add(p, v)", "Add(p, one)", "Add(p, scalar)", "Add(p, p)", "Sub(p, row)"})
    EXPECT_EQ(Left(TextOf(std::string(kProduct) + "y = " + sum)), "MatMulNBits " + std::string(sum).substr(0, 3));
  const std::string add = std::string(kProduct) + "y = Add(p, row) ";
  EXPECT_EQ(Left(TextOf(std::string(kProduct) + "y = Add(p, more)", "float", "$t[o,b,r,m] y")), "MatMulNBits Add");
  EXPECT_EQ(Left(TextOf(add, "float", "$t[b,r,m] y, $t[b,r,m] p")), "MatMulNBits Add");
  EXPECT_EQ(Left(TextOf(add + "z = Neg(p)", "float", "$t[b,r,m] y, $t[b,r,m] z")), "MatMulNBits Add Neg");
}

}  // namespace
}  // namespace sardonyx::optimizer
