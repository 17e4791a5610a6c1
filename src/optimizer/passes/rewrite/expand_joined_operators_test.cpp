// optimizer/passes/rewrite/expand_joined_operators_test.cpp - joined operators become those that they stand for.
// Results are compared with float64 in tests/contrib/test_packed.py and test_joined_nbits.py.
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::RunPipeline;

std::string Left(const std::string& text) {
  const ops::Registry registry;
  Graph graph = GraphOf(text, registry);
  OptimizeOptions options;
  options.level = Level::kDisable;
  RunPipeline(graph, registry, options);
  return Operators(graph);
}

TEST(ExpandJoinedOperators, PackedSequencesArePaddedAndPackedAgain) {
  const std::string left = Left(
      "g (float[3,4] x, float[4,12] w, float[12] b, int32[2,2] o, int32[3] s) => (float[3,4] y) {"
      " y = com.microsoft.PackedAttention <num_heads = 2> (x, w, b, o, s) }");
  EXPECT_NE(left.find("RestorePadding"), std::string::npos) << left;
  EXPECT_NE(left.find(" Attention "), std::string::npos) << left;
  EXPECT_TRUE(left.ends_with("Gather")) << left;
}

TEST(ExpandJoinedOperators, QueriesOfOneTensorStayTogether) {
  const std::string left = Left(
      "g (float[3,2,3,4] q, int32[2,2] o, int32[3] s) => (float[3,8] y) {"
      " y = com.microsoft.PackedMultiHeadAttention <num_heads = 2> (q, , , , o, s) }");
  EXPECT_NE(left.find("MultiHeadAttention"), std::string::npos) << left;
  EXPECT_EQ(left.find("RestorePadding"), left.rfind("RestorePadding")) << left;
}

TEST(ExpandJoinedOperators, ProductsShareTheirNormalization) {
  const std::string head = "g (float[1,32] x, float[32] n, uint8[8,1,16] w, float[8] s) => (";
  EXPECT_EQ(Left(head + "float[1,8] y) { y = com.microsoft.MatMulNBitsMlp <K = 32, N = 8, bits = 4, block_size = 32,"
                        " activation = \"silu\"> (x, , n, w, s, , w, s) }"),
            "SimplifiedLayerNormalization MatMulNBits MatMulNBits Sigmoid Mul Mul");
  EXPECT_EQ(Left(head + "float[1,8] q, float[1,8] k, float[1,8] v, float[1,32] t) { q, k, v, t ="
                        " com.microsoft.MatMulNBitsQkv <K = 32, Nq = 8, Nkv = 8, bits = 4, block_size = 32>"
                        " (x, x, n, w, s, , w, s, , w, s) }"),
            "Add SimplifiedLayerNormalization MatMulNBits MatMulNBits MatMulNBits");
}

}  // namespace
}  // namespace sardonyx::optimizer
