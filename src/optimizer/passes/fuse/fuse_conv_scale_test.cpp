// optimizer/passes/fuse/fuse_conv_scale_test.cpp - linear steps per channel are folded into Conv and ConvTranspose;
// others stay.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;

// Runs the pass on a body that makes y from x; the operators that are left.
std::string Folded(std::string_view body, std::string_view y_type = "float[1,2,2,2] y") {
  return OperatorsAfter("g (float[1,2,2,2] x) => (" + std::string(y_type) + R"()
<float[2,2,1,1] w = {1, 2, 3, 4}, float[2] b = {0.5, -0.5}, float[1,2,1,1] channel = {2, -3}, float[2,1,1] short = {5, 7},
 float[1,1,2,2] pixel = {1, 2, 3, 4}, float scalar = {3}, float[1] zero = {0}, float[2,1,1,1] batch = {1, 2}> {)" +
                            std::string(body) + "}",
                        {&kFuseConvScale}, {{Tensor::Of<float>({1, -2, 3, 4, 5, 6, -7, 8}, Shape{1, 2, 2, 2})}});
}

TEST(FuseConvScale, FoldsFactorsAndSummandsPerChannel) {
  EXPECT_EQ(Folded("c = Conv(x, w) y = Mul(c, channel)"), "Conv");
  EXPECT_EQ(Folded("c = Conv(x, w, b) y = Mul(short, c)"), "Conv");
  EXPECT_EQ(Folded("c = Conv(x, w, b) y = Add(channel, c)"), "Conv");
  EXPECT_EQ(Folded("c = Conv(x, w, b) y = Sub(c, channel)"), "Conv");
  EXPECT_EQ(Folded("c = Conv(x, w, b) y = Sub(scalar, c)"), "Conv");
  EXPECT_EQ(Folded("c = Conv(x, w, b) y = Div(c, channel)"), "Conv");
}

TEST(FuseConvScale, FoldsAChainAndIntoConvTranspose) {
  EXPECT_EQ(Folded("c = Conv(x, w) m = Mul(c, channel) a = Add(m, short) y = Div(a, scalar)"), "Conv");
  EXPECT_EQ(Folded("c = ConvTranspose(x, w, b) m = Mul(c, channel) y = Add(m, channel)"), "ConvTranspose");
}

TEST(FuseConvScale, LeavesOtherBroadcastsAlone) {
  EXPECT_EQ(Folded("c = Conv(x, w) y = Mul(c, pixel)"), "Conv Mul");
  EXPECT_EQ(Folded("c = Conv(x, w) y = Add(c, batch)", "float[2,2,2,2] y"), "Conv Add");
  EXPECT_EQ(Folded("c = Conv(x, w) y = Div(scalar, c)"), "Conv Div");
  EXPECT_EQ(Folded("c = Conv(x, w) y = Div(c, zero)"), "Conv Div");
}

TEST(FuseConvScale, LeavesAConvWithAnotherReaderAlone) {
  EXPECT_EQ(Folded("c = Conv(x, w) y = Mul(c, channel)", "float[1,2,2,2] y, float[1,2,2,2] c"), "Conv Mul");
}

}  // namespace
}  // namespace sardonyx::optimizer
