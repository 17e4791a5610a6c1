// optimizer/passes/fuse/fuse_pad_test.cpp - Pad becomes the reader's own pads if both fill with the same value.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;

std::string Fused(std::string_view body, int opset = 18) {
  return OperatorsAfter("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) +
                            "]> g (float[1,1,3,3] x) => (float[1,1,m,n] y) "
                            "<float[1,1,2,2] w = {1, 2, 3, 4}, int64[8] image = {0, 0, 1, 0, 0, 0, 0, 1}, "
                            "int64[4] pads = {1, 0, 0, 1}, int64[2] axes = {2, -1}, float one = {1}, "
                            "float[1] least = {-inf}, int64[8] channels = {0, 1, 0, 0, 0, 0, 0, 0}> {" +
                            std::string(body) + "}",
                        {&kFusePad}, {{Tensor::Of<float>({-1, -2, 3, 4, 5, -6, -7, 8, 9}, Shape{1, 1, 3, 3})}});
}

TEST(FusePad, GoesIntoAConv) {
  EXPECT_EQ(Fused("p = Pad(x, image) y = Conv(p, w)"), "Conv");
  EXPECT_EQ(Fused("p = Pad(x, pads, , axes) y = Conv<pads = [0, 1, 1, 0]>(p, w)"), "Conv");
  EXPECT_EQ(Fused("p = Pad(x, image) y = Conv<auto_pad = \"VALID\">(p, w)"), "Conv");
  EXPECT_EQ(Fused("p = Pad<pads = [0, 0, 1, 1, 0, 0, 0, 1]>(x) y = Conv(p, w)", 10), "Conv");
}

TEST(FusePad, GoesIntoPools) {
  EXPECT_EQ(Fused("p = Pad(x, image, least) y = MaxPool<kernel_shape = [2, 2]>(p)"), "MaxPool");
  EXPECT_EQ(Fused("p = Pad(x, image) y = AveragePool<kernel_shape = [2, 2]>(p)"), "AveragePool");
}

// Bytes are padded with what stands for zero.
TEST(FusePad, GoesIntoAQuantizedConv) {
  const auto fused = [](int fill) {
    return OperatorsAfter(
        "<ir_version: 8, opset_import: [\"\" : 18]> g (uint8[1,1,3,3] x) => (uint8[1,1,m,n] y) "
        "<int8[1,1,2,2] w = {1, -2, 3, 4}, int64[8] image = {0, 0, 1, 0, 0, 0, 0, 1}, float s = {1}, "
        "uint8 zero = {7}, uint8 fill = {" +
            std::to_string(fill) +
            "}, int8 wz = {0}> { p = Pad(x, image, fill) "
            "y = QLinearConv(p, s, zero, w, s, wz, s, zero) }",
        {&kFusePad}, {{Tensor::Of<std::uint8_t>({1, 2, 3, 4, 5, 6, 7, 8, 9}, Shape{1, 1, 3, 3})}});
  };
  EXPECT_EQ(fused(7), "QLinearConv");
  EXPECT_EQ(fused(0), "Pad QLinearConv");
}

TEST(FusePad, LeavesOtherValuesModesAndAxesAlone) {
  EXPECT_EQ(Fused("p = Pad(x, image, one) y = Conv(p, w)"), "Pad Conv");
  EXPECT_EQ(Fused("p = Pad<mode = \"reflect\">(x, image) y = Conv(p, w)"), "Pad Conv");
  EXPECT_EQ(Fused("p = Pad(x, image) y = MaxPool<kernel_shape = [2, 2]>(p)"), "Pad MaxPool");
  EXPECT_EQ(Fused("p = Pad(x, image) y = Conv<auto_pad = \"SAME_UPPER\">(p, w)"), "Pad Conv");
  EXPECT_EQ(Fused("p = Pad(x, image) y = AveragePool<kernel_shape = [2, 2], pads = [1, 1, 1, 1]>(p)"),
            "Pad AveragePool");
  EXPECT_EQ(Fused("p = Pad(x, image) y = AveragePool<kernel_shape = [1, 1]>(p)"), "Pad AveragePool");
}

}  // namespace
}  // namespace sardonyx::optimizer
