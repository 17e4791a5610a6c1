// optimizer/passes/fuse/fuse_skip_layer_norm_test.cpp - residual sums before normalizations become part of them; other
// sums stay.
#include "optimizer/passes/passes.h"
#include "testing/pass_test.h"

namespace sardonyx::optimizer {
namespace {

using ::sardonyx::testing::OperatorsAfter;

std::string Fused(const std::string& body, const std::string& outputs = "float[1,2,3] y") {
  return OperatorsAfter("g (float[1,2,3] x, float[1,2,3] z) => (" + outputs +
                            ") <float[3] s = {1, -2, 3}, float[3] b = {4, 5, 6}, float[3] c = {1, 2, 0}> {" + body +
                            "}",
                        {&kFuseSkipLayerNorm},
                        {{Tensor::Of<float>({1, -2, 3, 0.5f, -0.25f, 7}, Shape{1, 2, 3}),
                          Tensor::Of<float>({2, 3, -4, 5, 0.125f, 1}, Shape{1, 2, 3})}});
}

TEST(FuseSkipLayerNorm, TakesTheSumAndABias) {
  EXPECT_EQ(Fused("a = Add(x, z) y = LayerNormalization(a, s, b)"), "SkipLayerNormalization");
  EXPECT_EQ(Fused("a = Add(x, z) y = LayerNormalization<epsilon = 0.1>(a, s)"), "SkipLayerNormalization");
  EXPECT_EQ(Fused("a = Add(x, z) y = RMSNormalization(a, s)"), "SkipSimplifiedLayerNormalization");
  EXPECT_EQ(Fused("d = Add(z, c) a = Add(x, d) y = LayerNormalization(a, s, b)"), "SkipLayerNormalization");
  EXPECT_EQ(Fused("d = Add(c, x) a = Add(d, z) y = RMSNormalization(a, s)"), "SkipSimplifiedLayerNormalization");
}
TEST(FuseSkipLayerNorm, HandsTheSumOn) {
  EXPECT_EQ(Fused("a = Add(x, z) n = LayerNormalization(a, s, b) r = Relu(n) y = Sub(a, r)"),
            "SkipLayerNormalization Relu Sub");
}
TEST(FuseSkipLayerNorm, LeavesOtherSumsAlone) {
  EXPECT_EQ(Fused("a = Add(x, s) y = LayerNormalization(a, s, b)"), "Add LayerNormalization");
  EXPECT_EQ(Fused("a = Add(x, z) y = LayerNormalization<axis = 1>(a, z)"), "Add LayerNormalization");
  EXPECT_EQ(Fused("a = Add(x, z) y = LayerNormalization(a, s, b)", "float[1,2,3] y, float[1,2,3] a"),
            "Add LayerNormalization");
}

}  // namespace
}  // namespace sardonyx::optimizer
