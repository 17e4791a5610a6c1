// optimizer/passes/eliminate/move_views_test.cpp - views move past projections, selections past views, and joint
// projections are split.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::OperatorsAfter;

Tensor Numbers(const Shape& shape) {
  Tensor t(DType::kFloat, shape);
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = static_cast<float>(i * 29 % 17 - 8) / 4.0f;
  return t;
}

// The operators left, in order, after the pass and the merging of views that follows it.
std::string Moved(const std::string& text, const std::vector<Shape>& shapes) {
  std::vector<std::vector<Value>> runs;
  for (const Shape& shape : shapes) runs.push_back({Numbers(shape)});
  return OperatorsAfter(text, {&kMoveViews, &kMergeViews, &kFoldConstants, &kEliminateDeadNodes}, runs);
}

constexpr const char* kConstants =
    "<float[4,6] w = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6}, float[6] c = {1,2,3,4,5,6}, int64[2] flat = "
    "{-1, 4},"
    " int64[3] deep = {2, -1, 6}, int64[4] parts = {0, 0, 3, 2}, int64 i0 = {0}, int64 i1 = {1}, int64 i2 = {2}, "
    "int64[3] "
    "cuts = {2, 2, 2}, int64[1] from = {0}, int64[1] to = {4}, int64[1] last = {2}, int64[1] rest = {6}>";

TEST(MoveViews, HoistsAReshapeOverGemm) {
  const std::string text = "g (float[2,s,4] x) => (float[2,s,6] y) " + std::string(kConstants) +
                           "{ a = Reshape(x, flat) b = Gemm(a, w, c) r = Reshape(b, deep) y = Relu(r) }";
  EXPECT_EQ(Moved(text, {Shape{2, 5, 4}, Shape{2, 1, 4}}), "MatMul Add Relu");
}

TEST(MoveViews, HoistsATransposeThatCancels) {
  const std::string text = "g (float[b,s,4] x) => (float[b,s,6] y) " + std::string(kConstants) +
                           "{ t = Transpose<perm = [1, 0, 2]>(x) a = MatMul(t, w) b0 = Add(c, a)"
                           " r = Transpose<perm = [1, 0, 2]>(b0) y = Relu(r) }";
  EXPECT_EQ(Moved(text, {Shape{2, 5, 4}, Shape{1, 3, 4}}), "MatMul Add Relu");
}

TEST(MoveViews, SplitsAJointProjection) {
  const std::string head = "g (float[b,s,4] x) => (float[b,s,2] y) " + std::string(kConstants);
  EXPECT_EQ(
      Moved(
          head + "{ a = MatMul(x, w) b0 = Add(a, c) p, q, r = Split<axis = 2>(b0, cuts) u = Mul(p, q) y = Add(u, r) }",
          {Shape{2, 3, 4}}),
      "MatMul Add MatMul Add Mul MatMul Add Add");
}

TEST(MoveViews, SelectsBeforeItRearranges) {
  // Queries, keys and values as torch's nn.MultiheadAttention and timm write them.
  const std::string text =
      "g (float[b,s,4] x) => (float[b,s,2] y) " + std::string(kConstants) +
      "{ a = MatMul(x, w) b0 = Add(a, c) f = Reshape(b0, parts) t = Transpose<perm = [2, 0, 1, 3]>(f)"
      " p = Gather(t, i0) q = Gather(t, i1) r = Gather(t, i2) u = Mul(p, q) y = Add(u, r) }";
  EXPECT_EQ(Moved(text, {Shape{2, 3, 4}, Shape{1, 1, 4}}), "MatMul Add MatMul Add Mul MatMul Add Add");
}

TEST(MoveViews, LeavesPartsThatOverlapAndOtherReaders) {
  const std::string head = "g (float[b,s,4] x) => (float[b,s,6] y) " + std::string(kConstants);
  EXPECT_EQ(Moved(head + "{ a = MatMul(x, w) p = Slice(a, from, to, last) q = Slice(a, from, rest, last) r = "
                         "ReduceSum(p) y = Add(q, r) }",
                  {Shape{2, 3, 4}}),
            "MatMul Slice Slice ReduceSum Add");
  EXPECT_EQ(Moved(head + "{ t = Transpose<perm = [1, 0, 2]>(x) a = MatMul(t, w) u = Transpose<perm = [1, 0, 2]>(a) m = "
                         "ReduceMax(a) y = Add(u, m) }",
                  {Shape{2, 3, 4}}),
            "Transpose MatMul Transpose ReduceMax Add");
}

// Weights of float16 whose Cast stays until they are packed (optimizer/rules/half_weights.h) are split as they are.
TEST(MoveViews, SplitsWeightsBehindACast) {
  const ops::Registry registry;
  for (const bool transposed : {false, true}) {
    const std::string shape = transposed ? "[768,128]" : "[128,768]", flag = transposed ? "1" : "0";
    Graph graph = GraphOf("g (float[s,128] x, float16" + shape +
                              " h) => (float[s,256] y) <int64[3] cuts = {256, 256, 256}>"
                              " { w = Cast<to = 1>(h) a = Gemm<transB = " +
                              flag +
                              ">(x, w)"
                              " p, q, r = Split<axis = 1>(a, cuts) u = Mul(p, q) y = Add(u, r) }",
                          registry);
    const ValueId h = *graph.Find("h");
    graph.value(h).is_input = false;
    std::erase(graph.inputs, h);
    auto initializer = std::make_shared<Initializer>();
    initializer->tensor =
        testing::RandomTensors().Uniform(DType::kFloat16, transposed ? Shape{768, 128} : Shape{128, 768});
    graph.SetInitializer(h, std::move(initializer));
    const Graph before = graph;
    PassContext context{registry};
    for (const Pass* pass : {&kMoveViews, &kMergeViews, &kFoldConstants, &kEliminateDeadNodes})
      RunVerified(*pass, graph, context);
    std::string operators = testing::Operators(graph);
    EXPECT_EQ(operators, "Cast MatMul Cast MatMul Mul Cast MatMul Add");
    testing::ExpectSameValues(graph, before, registry, {Numbers(Shape{3, 128})});
  }
}

}  // namespace
}  // namespace sardonyx::optimizer
