// optimizer/passes/fuse/fuse_elementwise_test.cpp - which nodes join a group and which do not; values stay the same.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;

std::string Fused(const std::string& body, const std::string& outputs = "float[2,3] y") {
  return OperatorsAfter(
      "g (float[2,3] x, float[2,3] z) => (" + outputs +
          ") <float two = {2}, float[3] row = {1, -2, 3}, float[2,1] column = {4, 5}, float[1,1,1] deep = {2}> {" +
          body + "}",
      {&kFuseElementwise},
      {{Tensor::Of<float>({1, -2, 3, 0.5f, -0.25f, 7}, Shape{2, 3}),
        Tensor::Of<float>({2, 3, -4, 5, 0.125f, 1}, Shape{2, 3})}});
}

TEST(FuseElementwise, JoinsChainsWithBroadcastOperands) {
  EXPECT_EQ(Fused("a = Mul(x, row) b = Add(a, column) c = Sigmoid(b) y = Mul(c, two)"), "FusedElementwise");
  EXPECT_EQ(Fused("a = Sub(two, x) b = Pow(a, two) y = Clip(b, two, two)"), "FusedElementwise");
}
TEST(FuseElementwise, JoinsValuesThatTheGroupReadsTwice) {
  EXPECT_EQ(Fused("a = Add(x, z) b = Sigmoid(a) c = Tanh(a) y = Mul(b, c)"), "FusedElementwise");
}
TEST(FuseElementwise, KeepsValuesThatOthersRead) {
  EXPECT_EQ(Fused("a = Add(x, z) y = Relu(a)", "float[2,3] y, float[2,3] a"), "Add Relu");
  EXPECT_EQ(Fused("a = Add(x, z) b = Relu(a) t = Transpose(a) u = Transpose(t) c = Neg(b) y = Add(c, u)"),
            "Add Transpose Transpose FusedElementwise");
}
TEST(FuseElementwise, KeepsSmallerValuesApart) {
  EXPECT_EQ(Fused("a = Neg(row) y = Add(x, a)"), "Neg Add") << "three elements would be negated twice";
}
TEST(FuseElementwise, LeavesSingleNodesAndOtherFunctions) {
  EXPECT_EQ(Fused("a = Softmax(x) y = Relu(a)"), "Softmax Relu");
  EXPECT_EQ(Fused("a = Pow(x, row) y = Relu(a)"), "Pow Relu");
}
TEST(FuseElementwise, LeavesParametersThatAddAxes) {
  EXPECT_EQ(Fused("a = Pow(x, deep) y = Relu(a)", "float[1,2,3] y"), "Pow Relu");
}

}  // namespace
}  // namespace sardonyx::optimizer
