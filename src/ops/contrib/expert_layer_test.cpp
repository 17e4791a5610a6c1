// ops/contrib/expert_layer_test.cpp - scales of experts take 16 bits where that changes no bit of a result.
#include "ops/contrib/expert_layer.h"

#include <gtest/gtest.h>

#include <vector>

#include "ir/text.h"
#include "ops/registry.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kExperts = 3, kRows = 40, kColumns = 64, kBlocks = 2;

// The layer of a QMoE whose weights have 4 bits and these scales [kExperts, kRows, kBlocks].
ExpertLayer LayerOf(const std::vector<float>& scales) {
  Graph graph = ParseGraph(
      "g (float[5,64] x, float[5,3] r, uint8[3,40,32] w, float[3,40,2] s, uint8[3,64,20] v, float[3,64,2] t) => "
      "(float[5,64] y) { y = com.microsoft.QMoE<expert_weight_bits: int = 4, block_size: int = 32>(x, r, w, s, , v, t) "
      "}");
  const Node& node = graph.node(graph.order.front());
  Tensor weights(DType::kUInt8, Shape{kExperts, kRows, kColumns / 2});
  for (std::int64_t i = 0; i < weights.count(); ++i)
    weights.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * 37);
  Tensor scale(DType::kFloat, Shape{kExperts, kRows, kBlocks});
  std::copy(scales.begin(), scales.end(), scale.data<float>());
  std::vector<PrepareContext::Input> inputs(4);
  inputs[2] = {Type(), &weights, true};
  inputs[3] = {Type(), &scale, true};
  Serial serial;
  const OpDef op = {};
  PrepareContext context(graph, node, op, inputs, {}, serial);
  return PrepareExpertLayer(context, {.weights = 2, .scales = 3, .bits = 4, .block = 32});
}

TEST(ExpertLayer, KeepsScalesIn16BitsOnlyIfThoseOfAllExpertsFit) {
  std::vector<float> scales(kExperts * kRows * kBlocks, 0.25f);
  const ExpertLayer half = LayerOf(scales);
  EXPECT_TRUE(half.half_scales);
  scales.back() = 0.1f;  // of the last expert
  const ExpertLayer full = LayerOf(scales);
  EXPECT_FALSE(full.half_scales);
  EXPECT_LT(half.packed.byte_size(), full.packed.byte_size());
}

}  // namespace
}  // namespace sardonyx::ops
