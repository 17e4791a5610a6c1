// optimizer/passes/eliminate/inline_bodies_test.cpp - branches and loops whose course is known become plain nodes. What
// the caller decides stays, and so do names of outputs and what nested bodies capture.
#include "testing/evaluate_op.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::Floats;
using ::sardonyx::testing::GraphOf;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::RunPipeline;

// The operators that the basic passes leave.
std::string Left(const std::string& text, const std::vector<Value>& inputs) {
  const ops::Registry registry;
  Graph graph = GraphOf(text, registry);
  const Graph before = graph;
  OptimizeOptions options;
  options.level = Level::kBasic;
  RunPipeline(graph, registry, options);
  ExpectSameValues(graph, before, registry, inputs);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i)
    EXPECT_EQ(graph.value(graph.outputs[i]).name, before.value(before.outputs[i]).name);
  return Operators(graph);
}
const Value kX = Floats({-1, 2});

std::string Branches(const std::string& head, const std::string& condition) {
  return "g (float[2] x) => (float[2] y) <bool no = {0}, bool yes = {1}, int64 two = {2}, float k = {3}> {" + head +
         "y = If (" + condition +
         ") <then_branch = t () => (float[2] p) { a = Exp(x) p = Mul(a, k) },"
         " else_branch = e () => (float[2] q) { a = Neg(x) q = Add(a, x) }> }";
}

TEST(InlineBodies, TakesTheBranchOfAConstantCondition) {
  EXPECT_EQ(Left(Branches("", "yes"), {kX}), "Exp Mul");
  EXPECT_EQ(Left(Branches("", "no"), {kX}), "Neg Add");
}

TEST(InlineBodies, TakesTheBranchOfAConditionThatIsFolded) {
  EXPECT_EQ(Left(Branches("n = Size(x) c = Equal(n, two) ", "c"), {kX}), "Exp Mul");
  EXPECT_EQ(Left(Branches("n = Size(x) c0 = Greater(n, two) c = And(c0, yes) ", "c"), {kX}), "Neg Add");
}

TEST(InlineBodies, TakesBranchesInBranches) {
  EXPECT_EQ(Left("g (float[2] x) => (float[2] y) <bool yes = {1}> { b = Abs(x)"
                 " y = If (yes) <then_branch = t () => (float[2] p) { n = Not(yes)"
                 "   p = If (n) <then_branch = t2 () => (float[2] r) { r = Exp(b) },"
                 "               else_branch = e2 () => (float[2] u) { b2 = Neg(b) u = Sqrt(b2) }> },"
                 " else_branch = e () => (float[2] q) { q = Log(x) }> }",
                 {kX}),
            "Abs Neg Sqrt");
}

TEST(InlineBodies, NestedBodiesCaptureWhatTheBranchMade) {
  EXPECT_EQ(Left("g (float[2] x, bool c) => (float[2] y, float[2] a) <bool yes = {1}> { a = Neg(x)"
                 " y = If (yes) <then_branch = t () => (float[2] p) { a0 = Exp(x)"
                 "   p = If (c) <then_branch = t2 () => (float[2] r) { r = Abs(a0) },"
                 "               else_branch = e2 () => (float[2] u) { u = Add(a0, a) }> },"
                 " else_branch = e () => (float[2] q) { q = Log(x) }> }",
                 {kX, Tensor::Of<bool>({false}, Shape{})}),
            "Neg Exp If");
}

TEST(InlineBodies, OutputsKeepTheirNamesWhateverTheBranchHandsOn) {
  EXPECT_EQ(Left("g (float[2] x) => (float[2] y, float[2] z, float[2] w) <bool yes = {1}, float[2] k = {3, 4}> {"
                 " y, z, w = If (yes) <then_branch = t () => (float[2] p, float[2] r, float[2] u) { p = Identity(x)"
                 "   r = Identity(k) u = Identity(x) },"
                 " else_branch = e () => (float[2] q, float[2] s, float[2] v) { q = Log(x) s = Neg(x) v = Abs(x) }> }",
                 {kX}),
            "Identity Identity Identity");
}

std::string LoopText(const std::string& limit, const std::string& condition) {
  return "g (float[2] x, int64 m) => (float[2] y, float[n,2] all) <int64 one = {1}, bool yes = {1}> {"
         " y, all = Loop (" +
         limit + ", " + condition +
         ", x) <body = b (int64 i, bool c, float[2] s) =>"
         " (bool d, float[2] t, float[2] u) { d = Identity(c) f = Cast<to = 1>(i) t = Add(s, s) u = Sub(t, f) }> }";
}

TEST(InlineBodies, TakesTheBodyOfALoopThatRunsOnce) {
  const std::vector<Value> inputs = {kX, Tensor::Of<std::int64_t>({2}, Shape{})};
  EXPECT_EQ(Left(LoopText("one", "yes"), inputs), "Add Unsqueeze") << "the first turn has the number 0";
  EXPECT_EQ(Left(LoopText("m", "yes"), inputs), "Loop");
}

TEST(InlineBodies, GivesTheFirstTurnInTheRankThatTheBodyDeclares) {
  EXPECT_EQ(Left("g (float[2] x) => (float[2] y, int64[1] z) <int64 one = {1}, bool yes = {1}, int64[1] axis = {0}> {"
                 " y, z = Loop (one, yes, x) <body = b (int64[1] i, bool[1] c, float[2] s) =>"
                 " (bool d, float[2] t, int64 u) { d = Squeeze(c, axis) t = Exp(s) u = Squeeze(i, axis) }> }",
                 {kX}),
            "Exp Unsqueeze");
}

TEST(InlineBodies, DropsALoopThatNeverRuns) {
  const auto text = [](const std::string& limit, const std::string& condition) {
    return "g (float[2] x) => (float[2] y) <int64 zero = {0}, int64 one = {1}, bool no = {0}, bool yes = {1}> {"
           " a = Loop (" +
           limit + ", " + condition +
           ", x) <body = b (int64 i, bool c, float[2] s) =>"
           " (bool d, float[2] t) { d = Identity(c) t = Exp(s) }> y = Neg(a) }";
  };
  EXPECT_EQ(Left(text("zero", "yes"), {kX}), "Neg");
  EXPECT_EQ(Left(text("one", "no"), {kX}), "Neg");
  EXPECT_EQ(Left(text("", "no"), {kX}), "Neg");
}

TEST(InlineBodies, LeavesWhatTheCallerDecides) {
  EXPECT_EQ(
      Left("g (float[2] x, bool c) => (float[2] y) { y = If (c) <then_branch = t () => (float[2] p) { p = Exp(x) },"
           " else_branch = e () => (float[2] q) { q = Neg(x) }> }",
           {kX, Tensor::Of<bool>({true}, Shape{})}),
      "If");
}

}  // namespace
}  // namespace sardonyx::optimizer
