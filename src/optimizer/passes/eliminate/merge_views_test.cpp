// optimizer/passes/eliminate/merge_views_test.cpp - chains of views become their shortest form, with numbers and with
// symbols.
#include <numeric>

#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;

Tensor Counted(const Shape& shape) {
  Tensor t(DType::kFloat, shape);
  std::iota(t.data<float>(), t.data<float>() + t.count(), 0.0f);
  return t;
}

// The graph's text without its first line after the pass; both graphs compute the same from each shape.
std::string Merged(const std::string& text, const std::vector<Shape>& shapes) {
  std::vector<std::vector<Value>> runs;
  for (const Shape& shape : shapes) runs.push_back({Counted(shape)});
  return OperatorsAfter(text, {&kMergeViews, &kEliminateDeadNodes}, runs);
}

TEST(MergeViews, RemovesWhatUndoesItself) {
  EXPECT_EQ(Merged("g (float[b,3,4] x) => (float[b,3,4] y) { t = Transpose<perm = [0, 2, 1]>(x) u = Transpose<perm = "
                   "[0, 2, 1]>(t) y = Relu(u) }",
                   {Shape{2, 3, 4}, Shape{0, 3, 4}}),
            "Relu");
  EXPECT_EQ(Merged("g (float[b,6] x) => (float[b,6] y) <int64[3] a = {0, 2, 3}, int64[2] c = {0, 6}> { t = Reshape(x, "
                   "a) u = Reshape(t, c) y = Relu(u) }",
                   {Shape{2, 6}, Shape{1, 6}}),
            "Relu");
}

TEST(MergeViews, JoinsTheTransposeOfKeysThatTorchWrites) {
  // [b, s, 2*3] -> heads -> fold batch and heads -> transpose -> unfold
  EXPECT_EQ(Merged("g (float[b,s,6] x) => (float[b,2,3,s] y) <int64[4] h = {0, 0, 2, 3}> {\n"
                   "r = Reshape(x, h) t = Transpose<perm = [0, 2, 1, 3]>(r) y0 = Transpose<perm = [0, 1, 3, 2]>(t)\n"
                   "y = Relu(y0) }",
                   {Shape{2, 5, 6}, Shape{1, 1, 6}}),
            "Reshape Transpose Relu");
}

TEST(MergeViews, TurnsATransposeThatMovesNothingIntoAReshape) {
  EXPECT_EQ(Merged("g (float[1,3,1,4] x) => (float[3,1,1,4] y) { t = Transpose<perm = [1, 0, 2, 3]>(x) y = Relu(t) }",
                   {Shape{1, 3, 1, 4}}),
            "Reshape Relu");
}

TEST(MergeViews, CutsAxesWhereALaterShapeAsksForIt) {
  EXPECT_EQ(
      Merged("g (float[2,12] x) => (float[3,2,4] y) <int64[3] a = {2, 3, 4}, int64[1] zero = {0}, int64[1] one = {1}> {"
             "r = Reshape(x, a) u = Unsqueeze(r, zero) t = Transpose<perm = [2, 0, 1, 3]>(u) q = Squeeze(t, one) "
             "y = Relu(q) }",
             {Shape{2, 12}}),
      "Reshape Transpose Relu");
}

TEST(MergeViews, LeavesWhatIsShortOrCannotBeShownToFit) {
  EXPECT_EQ(Merged("g (float[2,3] x) => (float[3,2] y) { t = Transpose(x) y = Relu(t) }", {Shape{2, 3}}),
            "Transpose Relu");
  // 4 does not divide 6: the second Reshape mixes rows.
  EXPECT_EQ(Merged("g (float[2,6] x) => (float[3,4] y) <int64[2] a = {4, 3}> { t = Transpose<perm = [1, 0]>(x) r = "
                   "Reshape(t, a) u = Transpose<perm = [1, 0]>(r) y = Relu(u) }",
                   {Shape{2, 6}}),
            "Transpose Reshape Transpose Relu");
}

// [n, h, 3, 4] as [n, h * 3, 4]: with n = 0, only the author's -1 in place of n lets the others be computed.
TEST(MergeViews, LeavesAnAxisOpenOnlyWhereTheAuthorDoes) {
  const auto merged = [](const std::string& target, const std::vector<Shape>& shapes) {
    return Merged(
        "g (float[n,h,3,4] x) => (float[n,m,4] y) <int64 i1 = {1}, int64[1] zero = {0}, int64[1] one = {1}, "
        "int64[1] three = {3}, int64[1] four = {4}, int64[1] rest = {-1}> {\n"
        "s = Shape(x) t = Gather(s, i1) t1 = Unsqueeze(t, zero) rows = Mul(t1, three) n = Slice(s, zero, one) "
        "c = Concat<axis = 0>(" +
            target + ") u = Unsqueeze(x, one) v = Reshape(u, c) y = Relu(v) }",
        shapes);
  };
  EXPECT_EQ(merged("rest, rows, four", {Shape{2, 5, 3, 4}, Shape{0, 5, 3, 4}}),
            "Shape Gather Unsqueeze Mul Concat Unsqueeze Reshape Relu");
  EXPECT_EQ(merged("n, rest, four", {Shape{2, 5, 3, 4}, Shape{1, 5, 3, 4}}), "Reshape Relu");
}

TEST(MergeViews, KeepsGraphOutputs) {
  EXPECT_EQ(Merged("g (float[2,3] x) => (float[2,3] y) { t = Transpose(x) y = Transpose(t) }", {Shape{2, 3}}),
            "Transpose Transpose")
      << "an output that would be the input itself";
  EXPECT_EQ(Merged("g (float[2,3] x) => (float[2,3] y, float[3,2] t) { r = Relu(x) t = Transpose(r) y = Transpose(t) }",
                   {Shape{2, 3}}),
            "Relu Transpose");
}

}  // namespace
}  // namespace sardonyx::optimizer
