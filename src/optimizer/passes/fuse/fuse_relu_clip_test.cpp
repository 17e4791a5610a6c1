// optimizer/passes/fuse/fuse_relu_clip_test.cpp - Relu is joined with Clip and Relu; some bounds keep both.
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

std::string Joined(const std::string& body) {
  return testing::OperatorsAfter(
      "g (float[5] x) => (float[5] y) <float low = {-1}, float zero = {0}, float one = {1},"
      " float high = {6}, float below = {-0.5}> {" +
          body + "}",
      {&kFuseReluClip, &kEliminateDeadNodes}, {{Tensor::Of<float>({-3, -0.75f, 0.5f, 3, 9}, Shape{5})}});
}

TEST(FuseReluClip, JoinsThem) {
  EXPECT_EQ(Joined("r = Relu(x) y = Relu(r)"), "Relu");
  EXPECT_EQ(Joined("r = Relu(x) y = Clip(r, low, high)"), "Clip");
  EXPECT_EQ(Joined("r = Relu(x) y = Clip(r, one, high)"), "Clip");
  EXPECT_EQ(Joined("r = Relu(x) y = Clip(r, , high)"), "Clip");
  EXPECT_EQ(Joined("c = Clip(x, low, high) y = Relu(c)"), "Clip");
  EXPECT_EQ(Joined("c = Clip(x, one, high) y = Relu(c)"), "Clip");
  EXPECT_EQ(Joined("c = Clip(x, one) y = Relu(c)"), "Clip");
}

// The bound of zero has the type of the values.
TEST(FuseReluClip, JoinsThemForIntegers) {
  const auto joined = [](const std::string& body) {
    return testing::OperatorsAfter(
        "g (int8[4] x) => (int8[4] y) <int8 low = {-50}, int8 high = {100}> {" + body + "}",
        {&kFuseReluClip, &kEliminateDeadNodes}, {{Tensor::Of<std::int8_t>({-48, -3, 4, 101}, Shape{4})}});
  };
  EXPECT_EQ(joined("r = Relu(x) y = Clip(r, low, high)"), "Clip");
  EXPECT_EQ(joined("c = Clip(x, low, high) y = Relu(c)"), "Clip");
}

TEST(FuseReluClip, LeavesABoundBelowZeroAndOtherReaders) {
  EXPECT_EQ(Joined("c = Clip(x, low, below) y = Relu(c)"), "Clip Relu") << "Relu wins over the bound above";
  EXPECT_EQ(Joined("r = Relu(x) c = Clip(r, low, high) y = Add(c, r)"), "Relu Clip Add");
}

}  // namespace
}  // namespace sardonyx::optimizer
