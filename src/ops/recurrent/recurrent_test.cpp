// ops/recurrent/recurrent_test.cpp - computing both directions of a recurrent operator at once gives the same bits as
// one after the other.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "kernels/gemm/kernel_test.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "testing/evaluate_op.h"

namespace sardonyx::ops {
namespace {

constexpr std::int64_t kSeq = 40, kBatch = 2, kInput = 24, kHidden = 64;

Tensor RandomTensor(const Shape& shape, std::uint32_t seed) {
  Tensor t(DType::kFloat, shape);
  const std::vector<float> values = kernels::Random(static_cast<std::size_t>(t.count()), seed);
  for (std::size_t i = 0; i < values.size(); ++i) t.data<float>()[i] = 0.2f * values[i];
  return t;
}

// Y and Y_h of a bidirectional `op` with constant weights.
std::vector<Value> Outputs(const std::string& op, std::int64_t gates, const std::string& attributes,
                           Parallel* parallel) {
  Model model;
  model.graph = ParseGraph("g (float[40,2,24] x, float[2," + std::to_string(gates * kHidden) + ",24] w, float[2," +
                           std::to_string(gates * kHidden) + ",64] r) => (y, h) {\n  y, h = " + op +
                           "<direction = \"bidirectional\", hidden_size = 64" + attributes + ">(x, w, r)\n}");
  const Registry registry;
  ResolveVersions(model.graph, registry, model);
  Infer(model.graph, registry);
  const std::vector<Value> inputs = {RandomTensor(Shape{kSeq, kBatch, kInput}, 1),
                                     RandomTensor(Shape{2, gates * kHidden, kInput}, 2),
                                     RandomTensor(Shape{2, gates * kHidden, kHidden}, 3)};
  EvaluateOptions options;
  options.parallel = parallel;
  return EvaluateGraph(model.graph, registry, inputs, options);
}

TEST(Recurrent, DirectionsOnSeveralThreadsGiveTheSameBits) {
  const struct {
    const char* op;
    std::int64_t gates;
    const char* attributes;
  } cases[] = {{"LSTM", 4, ""}, {"GRU", 3, ""}, {"GRU", 3, ", linear_before_reset = 1"}, {"RNN", 1, ""}};
  kernels::ThreeInTurn threads;
  for (const auto& [op, gates, attributes] : cases) {
    const std::vector<Value> one = Outputs(op, gates, attributes, nullptr),
                             three = Outputs(op, gates, attributes, &threads);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto want = testing::Elements<float>(one[i]);
      EXPECT_EQ(testing::Elements<float>(three[i]), want) << op << attributes << " output " << i;
      EXPECT_TRUE(std::ranges::any_of(want, [](float v) { return v != 0; }));
    }
  }
}

}  // namespace
}  // namespace sardonyx::ops
