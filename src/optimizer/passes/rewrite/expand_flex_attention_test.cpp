// optimizer/passes/rewrite/expand_flex_attention_test.cpp - FlexAttention becomes products and Softmax, or what the
// fusions make of them. Results are compared with ONNX's reference in tests/conformance/test_flex_attention.py.
#include "testing/evaluate_op.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::RunPipeline;

const std::string kPlain =
    "g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,4] v) => (float[1,2,3,4] y) {"
    " y = ai.onnx.preview.FlexAttention(q, k, v) }";

std::string Left(const std::string& text, Level level) {
  const ops::Registry registry;
  Graph graph = GraphOf(text, registry);
  OptimizeOptions options;
  options.level = level;
  RunPipeline(graph, registry, options);
  return Operators(graph);
}

TEST(ExpandFlexAttention, IsDoneAtEveryLevelAndFusedFromExtendedOn) {
  EXPECT_EQ(Left(kPlain, Level::kDisable), "Transpose Mul Mul MatMul Softmax MatMul");
  EXPECT_EQ(Left(kPlain, Level::kExtended), "Attention");
}

TEST(ExpandFlexAttention, TakesTheNodesOfItsGraphs) {
  const std::string text =
      "g (float[1,2,3,4] q, float[1,2,5,4] k, float[1,2,5,4] v, float[3,5] m) => (float[1,2,3,4] y) {"
      " y = ai.onnx.preview.FlexAttention <score_mod = s (t) => (float[1,2,3,5] u) { u = Add(t, m) },"
      " prob_mod = p (t) => (float[1,2,3,5] w) { w = Exp(t) }> (q, k, v) }";
  EXPECT_EQ(Left(text, Level::kDisable), "Transpose Mul Mul MatMul Add Softmax Exp MatMul");
}

}  // namespace
}  // namespace sardonyx::optimizer
