// optimizer/passes/fuse/fuse_group_norm_test.cpp - PyTorch's spelling of GroupNormalization becomes one node; what only
// looks like it stays.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;
using ::sardonyx::testing::RandomTensors;

std::string Fused(std::string_view body, std::string_view input = "float[2,4,3,5] x") {
  RandomTensors random;
  return OperatorsAfter("g (" + std::string(input) + R"() => (float[2,4,3,5] y)
<int64[3] groups = {0, 2, -1}, float[2] ones = {1, 1}, float[2] zeros = {0, 0}, float[2] other = {2, 3},
 float[4,1,1] scale = {1, 2, 3, 4}, float[1,4,1,1] bias = {5, 6, 7, 8}, float[5] row = {1, 2, 3, 4, 5},
 int64[4] back = {2, 4, 3, 5}, int64[4] swapped = {2, 4, 5, 3}, int64[3] mixed = {4, 2, -1}> {)" +
                            std::string(body) + "}",
                        {&kFuseGroupNorm}, {{random.Uniform(DType::kFloat, Shape{2, 4, 3, 5})}});
}

TEST(FuseGroupNorm, TakesInFactorAndSummand) {
  EXPECT_EQ(Fused("a = Reshape(x, groups) b = InstanceNormalization(a, ones, zeros) c = Reshape(b, back)"
                  "d = Mul(c, scale) y = Add(d, bias)"),
            "GroupNormalization");
  EXPECT_EQ(Fused("a = Reshape(x, groups) b = InstanceNormalization<epsilon = 0.1>(a, ones, zeros)"
                  "c = Reshape(b, back) d = Mul(scale, c) y = Add(bias, d)"),
            "GroupNormalization");
}

TEST(FuseGroupNorm, DoesWithoutThem) {
  EXPECT_EQ(Fused("a = Reshape(x, groups) b = InstanceNormalization(a, other, other) y = Reshape(b, back)"),
            "GroupNormalization");
  EXPECT_EQ(Fused("a = Reshape(x, groups) b = InstanceNormalization(a, ones, zeros) c = Reshape(b, back)"
                  "y = Mul(c, row)"),
            "GroupNormalization Mul");
}

TEST(FuseGroupNorm, FollowsSymbolicShapes) {
  EXPECT_EQ(Fused("s = Shape(x) a = Reshape(x, groups) b = InstanceNormalization(a, ones, zeros) c = Reshape(b, s)"
                  "y = Mul(c, scale)",
                  "float[n,4,h,w] x"),
            "Shape GroupNormalization");
}

TEST(FuseGroupNorm, LeavesOtherShapesAlone) {
  EXPECT_EQ(Fused("a = Reshape(x, groups) b = InstanceNormalization(a, ones, zeros) c = Reshape(b, swapped)"
                  "y = Transpose<perm = [0, 1, 3, 2]>(c)"),
            "Reshape InstanceNormalization Reshape Transpose");
  EXPECT_EQ(Fused("a = Reshape(x, mixed) b = InstanceNormalization(a, ones, zeros) y = Reshape(b, back)"),
            "Reshape InstanceNormalization Reshape");
}

}  // namespace
}  // namespace sardonyx::optimizer
