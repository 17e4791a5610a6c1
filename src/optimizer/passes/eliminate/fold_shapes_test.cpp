// optimizer/passes/eliminate/fold_shapes_test.cpp - shape computations whose result follows from symbols, and those
// that must stay.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;

std::string Folded(const std::string& text, const std::vector<Shape>& shapes) {
  std::vector<std::vector<Value>> runs;
  for (const Shape& shape : shapes) {
    Tensor x(DType::kFloat, shape);
    for (std::int64_t i = 0; i < x.count(); ++i) x.data<float>()[i] = static_cast<float>(i);
    runs.push_back({x});
  }
  return OperatorsAfter(text, {&kFoldShapes, &kEliminateDeadNodes}, runs);
}

constexpr const char* kSizesOf =
    "<int64 i0 = {0}, int64 i1 = {1}, int64[1] zero = {0}, int64[1] heads = {2}, int64[1] rest = {-1}> {\n"
    "s = Shape(x) b = Gather(s, i0) b1 = Unsqueeze(b, zero) t = Gather(s, i1) t1 = Unsqueeze(t, zero)\n";

TEST(FoldShapes, MakesTargetsOfReshapeConstant) {
  EXPECT_EQ(Folded("g (float[b,t,6] x) => (float[b,t,2,3] y) " + std::string(kSizesOf) +
                       "c = Concat<axis = 0>(b1, t1, heads, rest) y = Reshape(x, c) }",
                   {Shape{2, 3, 6}, Shape{1, 1, 6}}),
            "Reshape");
}

TEST(FoldShapes, ComputesEqualSizesOnce) {
  EXPECT_EQ(
      Folded("g (float[b,t,6] x) => (float[b,t,6] y) " + std::string(kSizesOf) +
                 "r = Relu(x) s2 = Shape(r) c = Concat<axis = 0>(b1, t1, heads) z = ConstantOfShape(c) z2 = "
                 "ConstantOfShape(s2) n = ReduceSum(z) m = ReduceSum(z2) k = Add(n, m) y = Add(r, k) }",
             {Shape{2, 3, 6}}),
      "Shape Gather Unsqueeze Gather Unsqueeze Relu Concat ConstantOfShape ConstantOfShape ReduceSum ReduceSum Add "
      "Add");
}

TEST(FoldShapes, LeavesTargetsThatTheCallerGives) {
  const ops::Registry registry;
  Graph graph = ::sardonyx::testing::GraphOf(
      "g (float[3] x, int64[1] s) => (float[n] y) { r = Relu(x) z = Reshape(r, s) y = Exp(z) }", registry);
  OptimizeOptions options;
  options.level = Level::kAll;
  ::sardonyx::testing::RunPipeline(graph, registry, options);
  EXPECT_EQ(::sardonyx::testing::Operators(graph), "Relu Reshape Exp");
}

TEST(FoldShapes, LeavesTargetsWithTwoOpenDimensions) {
  EXPECT_EQ(Folded("g (float[b,t,6] x) => (float[t,b,6] y) " + std::string(kSizesOf) +
                       "six = Concat<axis = 0>(heads, heads) c = Concat<axis = 0>(t1, b1, rest) y = Reshape(x, c) }",
                   {Shape{2, 3, 6}}),
            "Shape Gather Unsqueeze Gather Unsqueeze Concat Reshape");
}

// [n, h, 4, 2] as [n, h * 4, 2]: with n = 0, only the author's -1 in place of n lets the others be computed.
TEST(FoldShapes, LeavesTargetsThatWouldBeOpenAtAnotherAxis) {
  const std::string merged = std::string(kSizesOf) + "four = Add(heads, heads) rows = Mul(t1, four) ";
  EXPECT_EQ(Folded("g (float[n,h,4,2] x) => (float[n,m,2] y) " + merged +
                       "c = Concat<axis = 0>(rest, rows, heads) y = Reshape(x, c) }",
                   {Shape{2, 3, 4, 2}, Shape{0, 3, 4, 2}}),
            "Shape Gather Unsqueeze Add Mul Concat Reshape");
  EXPECT_EQ(Folded("g (float[n,h,4,2] x) => (float[n,m,2] y) " + merged +
                       "c = Concat<axis = 0>(b1, rest, heads) y = Reshape(x, c) }",
                   {Shape{2, 3, 4, 2}, Shape{1, 3, 4, 2}}),
            "Reshape");
}

}  // namespace
}  // namespace sardonyx::optimizer
