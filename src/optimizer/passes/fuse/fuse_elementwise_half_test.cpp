// optimizer/passes/fuse/fuse_elementwise_half_test.cpp - groups that read float16 and bfloat16, and end in them, give
// the same bits.
#include "testing/fusion_matrix.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::InputsFor;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::RandomTensors;
using ::sardonyx::testing::SameBits;

// `number` is ONNX's of the type: 10 for float16, 16 for bfloat16.
std::string Left(const std::string& dtype, int number, const std::string& body, const std::string& result) {
  const ops::Registry registry;
  RandomTensors random;
  const std::string to_half = "Cast<to = " + std::to_string(number) + ">";
  std::string text = "g (" + dtype + "[n,5] x, " + dtype + "[5] row, float[n,1] column) => (" + result +
                     " y) <float two = {2}> { a = Cast<to = 1>(x) b = Cast<to = 1>(row) " + body + " }";
  text = testing::ReplaceAll(testing::ReplaceAll(text, "ToHalf", to_half), "$t", dtype);
  SCOPED_TRACE(text);
  Graph graph = GraphOf(text, registry);
  const Graph before = graph;
  PassContext context{registry};
  RunVerified(kFuseElementwise, graph, context);
  RunVerified(kEliminateDeadNodes, graph, context);
  for (const std::int64_t rows : {300, 1, 0}) {
    std::vector<Value> inputs = InputsFor(before, {{"n", rows}}, random);
    for (Value& input : inputs) input = Value(random.WithSpecialValues(input.tensor(), 0.1));
    const Value got = ops::EvaluateGraph(graph, registry, inputs)[0],
                want = ops::EvaluateGraph(before, registry, inputs)[0];
    EXPECT_TRUE(SameBits(got.tensor(), want.tensor())) << rows;
  }
  return Operators(graph);
}

TEST(FuseElementwiseHalf, ReadsAndEndsInHalfPrecision) {
  for (const auto& [dtype, number] : {std::pair("float16", 10), std::pair("bfloat16", 16)}) {
    EXPECT_EQ(Left(dtype, number, "c = Mul(a, b) d = Add(c, column) e = Sigmoid(d) y = ToHalf(e)", "$t[n,5]"),
              "FusedElementwise");
    EXPECT_EQ(Left(dtype, number, "c = Mul(a, two) y = ToHalf(c)", "$t[n,5]"), "FusedElementwise") << "one node alone";
    EXPECT_EQ(Left(dtype, number, "c = Mul(a, b) y = Add(c, column)", "float[n,5]"), "FusedElementwise")
        << "it only reads";
    EXPECT_EQ(Left(dtype, number, "c = Mul(column, two) d = Mul(a, b) e = Sub(d, c) y = ToHalf(e)", "$t[n,5]"),
              "Mul FusedElementwise")
        << "a smaller value stays apart";
    EXPECT_EQ(
        Left(dtype, number, "c = Mul(a, two) h = ToHalf(c) f = Cast<to = 1>(h) d = Add(f, b) y = ToHalf(d)", "$t[n,5]"),
        "FusedElementwise FusedElementwise")
        << "the rounding between them stays";
  }
}

TEST(FuseElementwiseHalf, LeavesOtherCasts) {
  EXPECT_EQ(Left("float16", 10, "c = Mul(a, two) y = Cast<to = 11>(c)", "double[n,5]"), "Cast Mul Cast");
  EXPECT_EQ(Left("float16", 10, "c = Softmax(a) y = ToHalf(c)", "$t[n,5]"), "Cast Softmax Cast");
}

}  // namespace
}  // namespace sardonyx::optimizer
