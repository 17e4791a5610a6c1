// optimizer/passes/eliminate/simplify_nodes_test.cpp - nodes that do nothing are removed; those that do something stay.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::ExpectSameValues;
using ::sardonyx::testing::Operators;
using ::sardonyx::testing::PreparedGraph;

std::string Simplified(const std::string& body) {
  const ops::Registry registry;
  Graph graph = PreparedGraph(
      "g (float[2,3] x) => (float[m,n] y) <float zero = {0}, float one = {1}, float nearly = {1.000005}, float four = "
      "{4},"
      " float three = {3}, float[1,1,1] deep = {0}, int64[4] pads = {0, 0, 0, 0}, int64[4] pad = {0, 1, 0, 0},"
      " int64[2] shape = {1, 3}, int64[2] from = {0, 0}, int64[2] to = {9, 9}, int64[2] short = {2, 2},"
      " float low = {-1}, float high = {6}> {" +
          body + "}",
      registry);
  const Graph before = graph;
  PassContext context{registry};
  for (const Pass* pass : {&kEliminateCasts, &kSimplifyNodes}) ApplyRules(pass->rules, graph, registry);
  RunVerified(kReplaceDivisions, graph, context);
  RunVerified(kSimplifySlices, graph, context);
  RunVerified(kEliminateDeadNodes, graph, context);
  ExpectSameValues(graph, before, registry, {Tensor::Of<float>({1, -2, 7, 0.3f, 5, -6}, Shape{2, 3})});
  return Operators(graph);
}

TEST(SimplifyNodes, RemovesArithmeticWithNeutralElements) {
  for (const char* body : {"Add(x, zero)", "Add(zero, x)", "Sub(x, zero)", "Mul(one, x)", "Div(x, one)", "Pow(x, one)"})
    EXPECT_EQ(Simplified("a = " + std::string(body) + " y = Neg(a)"), "Neg") << body;
}
TEST(SimplifyNodes, KeepsArithmeticThatDoesSomething) {
  EXPECT_EQ(Simplified("a = Sub(zero, x) y = Neg(a)"), "Sub Neg");
  EXPECT_EQ(Simplified("a = Mul(x, nearly) y = Neg(a)"), "Mul Neg");
  EXPECT_EQ(Simplified("a = Div(one, x) y = Neg(a)"), "Div Neg");
  EXPECT_EQ(Simplified("a = Add(x, deep) b = Squeeze(a) y = Neg(b)"), "Add Squeeze Neg") << "it adds an axis";
}
TEST(SimplifyNodes, RemovesMovesToTheSamePlace) {
  EXPECT_EQ(Simplified("a = Pad(x, pads) y = Neg(a)"), "Neg");
  EXPECT_EQ(Simplified("a = Expand(x, shape) y = Neg(a)"), "Neg");
  EXPECT_EQ(Simplified("a = Slice(x, from, to) y = Neg(a)"), "Neg");
  EXPECT_EQ(Simplified("a = Pad(x, pad) y = Neg(a)"), "Pad Neg");
  EXPECT_EQ(Simplified("a = Slice(x, from, short) y = Neg(a)"), "Slice Neg");
}
TEST(SimplifyNodes, JoinsCasts) {
  EXPECT_EQ(Simplified("a = Cast<to = 11>(x) b = Cast<to = 1>(a) y = Neg(b)"), "Neg");
  EXPECT_EQ(Simplified("a = Cast<to = 11>(x) b = Cast<to = 7>(a) c = Cast<to = 1>(b) y = Neg(c)"), "Cast Cast Neg");
  EXPECT_EQ(Simplified("a = Cast<to = 10>(x) b = Cast<to = 1>(a) y = Neg(b)"), "Cast Cast Neg") << "half is narrower";
}
TEST(SimplifyNodes, AddsTwo) {
  EXPECT_EQ(Simplified("a = Neg(x) y = Sum(a, x)"), "Neg Add");
  EXPECT_EQ(Simplified("a = Neg(x) y = Sum(three, a)"), "Neg Add");
  EXPECT_EQ(Simplified("a = Neg(x) y = Sum(a, x, x)"), "Neg Sum");
}
TEST(SimplifyNodes, DividesByPowersOfTwoAsProducts) {
  EXPECT_EQ(Simplified("a = Div(x, four) y = Neg(a)"), "Mul Neg");
  EXPECT_EQ(Simplified("a = Div(x, three) y = Neg(a)"), "Div Neg");
}

}  // namespace
}  // namespace sardonyx::optimizer
