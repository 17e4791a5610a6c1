// optimizer/passes/fuse/merge_convs_test.cpp - branches of convolutions become one; others stay.
#include "optimizer/passes/passes.h"
#include "testing/pass_example.h"
#include "testing/pass_test.h"
#include "testing/random_tensor.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;
using ::sardonyx::testing::RandomTensors;

// Four channels; weights of kernels 3x3, 1x1, 1x3 and of 3x3 for each channel, from a list that repeats.
std::string Branches(std::string_view body, std::string_view outputs = "float[n,c,h,w] y") {
  const auto numbers = [](int count, int start) {
    std::string list;
    for (int i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + std::to_string((i * 7 + start) % 19 * 0.1 - 0.8);
    return list;
  };
  return "g (float[2,4,6,5] x, float[2,4,6,5] z) => (" + std::string(outputs) + ") <float[4,4,3,3] w3 = {" +
         numbers(144, 1) + "}, float[4,4,1,1] w1 = {" + numbers(16, 2) + "}, float[4,4,1,3] w13 = {" + numbers(48, 3) +
         "}, float[4,1,3,3] d3 = {" + numbers(36, 4) + "}, float[4,1,1,1] d1 = {" + numbers(4, 5) +
         "}, float[4] b = {1, -2, 0.5, 3}, float[4] scale = {2, 3, -1, 1}, float[4] shift = {0.5, -1, 0, 2},"
         "float[4] mean = {1, -2, 3, 0}, float[4] variance = {4, 0.25, 1, 2}, float[4,1,1] gamma = {0.5, 2, -1, 3}> {" +
         std::string(body) + "}";
}

const testing::PassExample kExample(
    "merge_convs", {.changed = Branches("a = Conv<pads = [1,1,1,1]>(x, w3, b) c = Conv(x, w1) y = Add(a, c)"),
                    .left = Branches("a = Conv<pads = [0,0,2,2]>(x, w3) c = Conv<pads = [2,2,0,0]>(x, w3) "
                                     "y = Add(a, c)"),
                    .reasons = {"(Add, output 'y')", "taps in different places"}});

std::string After(std::string_view body, std::string_view outputs = "float[n,c,h,w] y") {
  RandomTensors random;
  return OperatorsAfter(
      Branches(body, outputs), {&kFuseConvBatchNorm, &kMergeConvs, &kFuseConvScale, &kMergeConvs},
      {{random.Uniform(DType::kFloat, Shape{2, 4, 6, 5}), random.Uniform(DType::kFloat, Shape{2, 4, 6, 5})}});
}

TEST(MergeConvs, KernelsOfSeveralSizesBecomeTheLargest) {
  EXPECT_EQ(After("a = Conv<pads = [1,1,1,1]>(x, w3, b) c = Conv(x, w1) y = Add(a, c)"), "Conv");
  EXPECT_EQ(After("a = Conv<pads = [1,1,1,1]>(x, w3) c = Conv<pads = [0,1,0,1]>(x, w13, b) y = Add(c, a)"), "Conv");
  EXPECT_EQ(After("a = Conv<pads = [1,1,1,1]>(x, w3, b) c = Conv(x, w1, b) y = Sub(c, a)"), "Conv");
  EXPECT_EQ(After("a = Conv<pads = [1,1,1,1], strides = [2,2]>(x, w3) c = Conv<strides = [2,2]>(x, w1) y = Add(a, c)"),
            "Conv");
  EXPECT_EQ(After("a = Conv<pads = [2,2,2,2], dilations = [2,2]>(x, w3) c = Conv(x, w1) y = Sub(a, c)"), "Conv");
  EXPECT_EQ(After("a = Conv<pads = [1,1,1,1], group = 4>(x, d3) c = Conv<group = 4>(x, d1, b) y = Add(a, c)"), "Conv");
}

TEST(MergeConvs, ANormalizedInputIsATapInTheMiddle) {
  EXPECT_EQ(After("a = Conv<pads = [1,1,1,1]>(x, w3, b) n = BatchNormalization(x, scale, shift, mean, variance) "
                  "y = Add(a, n)"),
            "Conv");
  EXPECT_EQ(After("a = Conv<pads = [1,1,1,1], group = 4>(x, d3) c = Conv<group = 4>(x, d1) s = Add(c, a) "
                  "n = BatchNormalization<epsilon = 0.1>(x, scale, shift, mean, variance) m = Sub(n, s) "
                  "g = Mul(m, gamma) y = Add(x, g)"),
            "Conv");
}

TEST(MergeConvs, OtherBranchesStay) {
  EXPECT_EQ(After("a = Conv<pads = [1,1,1,1]>(x, w3) c = Conv(z, w1) y = Add(a, c)"), "Conv Conv Add");
  EXPECT_EQ(After("a = Conv<pads = [1,1,1,1]>(x, w3) c = Conv<pads = [1,1,1,1]>(x, w3, b) y = Add(a, c)",
                  "float[n,c,h,w] y, float[n,c,h,w] a"),
            "Conv Conv Add");
  EXPECT_EQ(After("a = Conv<pads = [1,1,1,1]>(x, w3) y = Add(a, x)"), "Conv Add");  // x is added to the sums as it is
  EXPECT_EQ(After("a = Conv<pads = [0,0,2,2]>(x, w3) c = Conv<pads = [2,2,0,0]>(x, w3) y = Add(a, c)"),
            "Conv Conv Add");
  EXPECT_EQ(After("a = Conv<pads = [0,0,2,2]>(x, w3) c = Conv<pads = [1,1,1,1]>(x, w3) y = Add(a, c)"),
            "Conv Conv Add");
  EXPECT_EQ(After("a = Conv<pads = [1,1,1,1]>(x, w3) n = BatchNormalization(z, scale, shift, mean, variance) "
                  "y = Add(a, n)"),
            "Conv BatchNormalization Add");
}

}  // namespace
}  // namespace sardonyx::optimizer
