// ops/recurrent/recurrent_test.cpp - computing both directions of a recurrent operator at once, or a step on several
// threads, gives the same bits as one after the other on one.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "kernels/gemm/kernel_test.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "testing/evaluate_op.h"

namespace sardonyx::ops {
namespace {

// Runs the parts of a loop one after the other, last first, as if this many threads had taken them.
class InTurn final : public Parallel {
 public:
  explicit InTurn(int threads) : threads_(threads) {}
  void For(std::int64_t count, std::int64_t grain, Body body) override {
    for (std::int64_t end = count; end > 0;) {
      const std::int64_t begin = (end - 1) / grain * grain;
      body(begin, end);
      end = begin;
    }
  }
  int ThreadCount() const override { return threads_; }

 private:
  int threads_;
};

struct Sizes {
  std::int64_t seq, batch, input, hidden;
};

struct Kind {
  const char* op;
  std::int64_t gates;
  const char* attributes;
};
constexpr Kind kKinds[] = {{"LSTM", 4, ""}, {"GRU", 3, ""}, {"GRU", 3, ", linear_before_reset = 1"}, {"RNN", 1, ""}};

Tensor RandomTensor(const Shape& shape, std::uint32_t seed) {
  Tensor t(DType::kFloat, shape);
  const std::vector<float> values = kernels::Random(static_cast<std::size_t>(t.count()), seed);
  for (std::size_t i = 0; i < values.size(); ++i) t.data<float>()[i] = 0.2f * values[i];
  return t;
}

// Y and Y_h with constant weights.
std::vector<Value> Outputs(const Kind& kind, const Sizes& sizes, const std::string& direction, Parallel* parallel) {
  const std::int64_t directions = direction == "bidirectional" ? 2 : 1, all = kind.gates * sizes.hidden;
  const Shape x{sizes.seq, sizes.batch, sizes.input}, w{directions, all, sizes.input}, r{directions, all, sizes.hidden};
  Model model;
  model.graph = ParseGraph("g (float" + ToText(x) + " x, float" + ToText(w) + " w, float" + ToText(r) +
                           " r) => (y, h) {\n  y, h = " + kind.op + "<direction = \"" + direction +
                           "\", hidden_size = " + std::to_string(sizes.hidden) + kind.attributes + ">(x, w, r)\n}");
  const Registry registry;
  ResolveVersions(model.graph, registry, model);
  Infer(model.graph, registry);
  EvaluateOptions options;
  options.parallel = parallel;
  return EvaluateGraph(model.graph, registry,
                       std::vector<Value>{RandomTensor(x, 1), RandomTensor(w, 2), RandomTensor(r, 3)}, options);
}

void ExpectSameBits(const Kind& kind, const Sizes& sizes, const std::string& direction) {
  const std::vector<Value> one = Outputs(kind, sizes, direction, nullptr);
  for (const int count : {2, 3, 4}) {
    InTurn threads(count);
    const std::vector<Value> several = Outputs(kind, sizes, direction, &threads);
    for (std::size_t i = 0; i < 2; ++i) {
      const auto want = testing::Elements<float>(one[i]);
      EXPECT_EQ(testing::Elements<float>(several[i]), want)
          << kind.op << kind.attributes << " on " << count << " threads, output " << i;
      EXPECT_TRUE(std::ranges::any_of(want, [](float v) { return v != 0; }));
    }
  }
}

TEST(Recurrent, DirectionsOnSeveralThreadsGiveTheSameBits) {
  for (const Kind& kind : kKinds) ExpectSameBits(kind, {40, 2, 24, 64}, "bidirectional");
}

// So many that their inputs are multiplied a few steps at a time: by one thread for all sequences, or by several.
TEST(Recurrent, ManyStepsOnSeveralThreadsGiveTheSameBits) {
  const Sizes all[] = {{130, 5, 24, 64}, {301, 1, 24, 48}, {90, 13, 6, 75}, {2, 4, 24, 64}};
  for (const Sizes& sizes : all)
    for (const Kind& kind : kKinds)
      for (const char* direction : {"forward", "reverse", "bidirectional"}) ExpectSameBits(kind, sizes, direction);
}

// Hidden sizes with and without a rest; batches of one kernel of few rows, and of several threads' rows.
TEST(Recurrent, StepsOnSeveralThreadsGiveTheSameBits) {
  const Sizes all[] = {{4, 1, 24, 200}, {4, 1, 24, 192}, {3, 6, 24, 131}, {3, 8, 24, 144},
                       {3, 8, 24, 100}, {3, 70, 24, 48}, {2, 70, 24, 37}};
  for (const Sizes& sizes : all)
    for (const Kind& kind : kKinds) ExpectSameBits(kind, sizes, "reverse");
}

}  // namespace
}  // namespace sardonyx::ops
