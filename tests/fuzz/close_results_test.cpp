// tests/fuzz/close_results_test.cpp - faults planted in the results of small graphs are found, and optimized sessions
// of graphs with infinities pass.
#include "fuzz/close_results.h"

#include <gtest/gtest.h>

#include <limits>

#include "ir/text.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "testing/environment.h"
#include "testing/evaluate_op.h"

namespace sardonyx::fuzz {
namespace {

using testing::Floats;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

class CloseResultsOf {
 public:
  CloseResultsOf(std::string_view text, const std::vector<Value>& inputs) {
    made_.model = std::make_shared<Model>();
    made_.model->ir_version = 10;
    Graph& graph = made_.model->graph;
    graph = ParseGraph(text);
    made_.model->opset_imports = graph.opset_imports;
    ops::ResolveVersions(graph, registry_, *made_.model);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      made_.inputs.emplace_back(graph.value(graph.inputs[i]).name, inputs[i]);
    for (const ValueId id : graph.outputs) made_.outputs.push_back(graph.value(id).name);
    made_.results = ops::EvaluateGraph(graph, registry_, inputs);
  }

  // Whether the first output may be this.
  bool Takes(const Tensor& got) const { return CloseResults(made_, registry_).Compare(0, got).empty(); }

  // What is wrong with a session's result.
  std::string Optimized() const {
    const auto session = runtime::Session::FromModel(testing::TestEnvironment(), made_.model, {});
    const std::vector<Value> got = session->Run(runtime::RunOptions(), made_.inputs, made_.outputs);
    return CloseResults(made_, registry_).Compare(0, got[0]);
  }

  const Tensor& result() const { return made_.results[0].tensor(); }

 private:
  ops::Registry registry_;
  RandomGraph made_;
};

Tensor Column(std::initializer_list<float> elements) {
  return Tensor::Of<float>(elements, Shape{static_cast<std::int64_t>(elements.size()), 1});
}
Tensor Row(std::initializer_list<float> elements) {
  return Tensor::Of<float>(elements, Shape{1, static_cast<std::int64_t>(elements.size())});
}

TEST(CloseResults, FindSpecialElementsThatNothingExcuses) {
  const CloseResultsOf log("g (float[4] x) => (float[4] y) { y = Log(x) }", {Floats({-1, 0, kInfinity, 1})});
  EXPECT_TRUE(log.Takes(Floats({kNaN, -kInfinity, kInfinity, 0})));
  EXPECT_TRUE(log.Takes(Floats({kNaN, -kInfinity, kInfinity, 1e-6F})));
  EXPECT_FALSE(log.Takes(Floats({0, -kInfinity, kInfinity, 0})));             // NaN lost
  EXPECT_FALSE(log.Takes(Floats({kNaN, -kInfinity, kInfinity, kNaN})));       // NaN invented
  EXPECT_FALSE(log.Takes(Floats({kNaN, kInfinity, kInfinity, 0})));           // the other infinity
  EXPECT_FALSE(log.Takes(Floats({kNaN, -3.4e38F, kInfinity, 0})));            // a number for an infinity
  EXPECT_FALSE(log.Takes(Floats({kNaN, -kInfinity, kInfinity, kInfinity})));  // an infinity for a number
  EXPECT_FALSE(log.Takes(Floats({kNaN, -kInfinity, kInfinity, 0.5F})));       // another number beside them
  EXPECT_FALSE(log.Takes(Floats({kNaN, -kInfinity, kInfinity})));             // another shape
}

TEST(CloseResults, FindSpecialElementsBehindAnExceptionThatDecidesThem) {
  const CloseResultsOf log("g (float[1, 2] x, float[2, 1] z) => (float[1, 1] y) { a = MatMul(x, z) y = Log(a) }",
                           {Row({-1, -2}), Column({1, 1})});
  EXPECT_TRUE(log.Takes(Row({kNaN})));
  EXPECT_FALSE(log.Takes(Row({1})));
  EXPECT_FALSE(log.Takes(Row({kInfinity})));
  const CloseResultsOf product("g (float[1, 2] x, float[2, 1] z) => (float[1, 1] y) { y = MatMul(x, z) }",
                               {Row({-kInfinity, 1}), Column({1, 1})});
  EXPECT_FALSE(product.Takes(Row({kInfinity})));
  EXPECT_FALSE(product.Takes(Row({kNaN})));
  EXPECT_FALSE(product.Takes(Row({-3e38F})));
}

TEST(CloseResults, TheSignOfASumOfZerosIsOpen) {
  const CloseResultsOf sum("g (float[1, 2] x, float[2, 1] z) => (float[1, 1] y) { a = MatMul(x, z) y = Reciprocal(a) }",
                           {Row({-0.0F, -0.0F}), Column({1, 2})});
  EXPECT_TRUE(sum.Takes(Row({kInfinity})));
  EXPECT_TRUE(sum.Takes(Row({-kInfinity})));
  EXPECT_FALSE(sum.Takes(Row({1e30F})));
  EXPECT_FALSE(sum.Takes(Row({kNaN})));
  const CloseResultsOf no_sum("g (float[3] x) => (float[3] y) { a = Add(x, x) y = Reciprocal(a) }",
                              {Floats({-0.0F, 0.0F, 1})});
  EXPECT_TRUE(no_sum.Takes(Floats({-kInfinity, kInfinity, 0.5F})));
  EXPECT_FALSE(no_sum.Takes(Floats({kInfinity, kInfinity, 0.5F})));
  EXPECT_FALSE(no_sum.Takes(Floats({-kInfinity, -kInfinity, 0.5F})));
  const CloseResultsOf zero("g (float[2] x) => (float[2] y) <float[1] z = {0}> { a = Add(x, z) y = Reciprocal(a) }",
                            {Floats({-0.0F, 0.0F})});
  EXPECT_TRUE(zero.Takes(Floats({-kInfinity, kInfinity})));  // x + 0 as x
  EXPECT_TRUE(zero.Takes(Floats({kInfinity, kInfinity})));
}

TEST(CloseResults, AShapeIsOpenBehindAJumpThatNoiseMeets) {
  constexpr std::string_view kText = R"(g (float[3] x) => (float[n] y) <float zero = {0}, float one = {1}> {
    r = ReduceSum<keepdims = 0>(x) i = Cast<to = 7>(r) f = Cast<to = 1>(i) y = Range(zero, f, one) })";
  const CloseResultsOf close(kText, {Floats({1, 1, 1})});
  EXPECT_TRUE(close.Takes(Floats({0, 1, 2})));
  EXPECT_TRUE(close.Takes(Floats({0, 1})));
  EXPECT_FALSE(close.Takes(Floats({0, 5})));
  EXPECT_FALSE(close.Takes(Floats({0})));
  const CloseResultsOf far(kText, {Floats({1, 1, 1.5F})});
  EXPECT_TRUE(far.Takes(Floats({0, 1, 2})));
  EXPECT_FALSE(far.Takes(Floats({0, 1})));
}

// Graphs whose optimized form legally differs from the author's.
TEST(CloseResults, OptimizedSessionsPass) {
  const Tensor far = Row({3.4e38F, -3.4e38F, 1, 1e19F});
  EXPECT_EQ(CloseResultsOf(R"(g (float[1, 4] x, float16[4, 1] w) => (float[1, 1] y) {
      h = Cast<to = 10>(x) m = MatMul(h, w) a = Tanh(m) y = Cast<to = 1>(a) })",
                           {far, Tensor::Of<Half>({Half(1), Half(1), Half(1), Half(1)}, Shape{4, 1})})
                .Optimized(),
            "");
  EXPECT_EQ(CloseResultsOf(R"(g (float[1, 4] x, float[4] g1) => (float[1, 4] y)
      <float eps = {1e-5}, float two = {2}, int64[1] last = {-1}> {
      s = Pow(x, two) v = ReduceMean(s, last) e = Add(v, eps) r = Sqrt(e) c = Div(x, r) y = Mul(c, g1) })",
                           {far, Floats({1, 1, 2, 1})})
                .Optimized(),
            "");
  EXPECT_EQ(CloseResultsOf(R"(g (float[2, 2] x) => (float[2, 2] y) <float[2, 2] w = {0, -0, -0, 0}> {
      t = Transpose<perm = [1, 0]>(x) m = MatMul(t, w) y = Reciprocal(m) })",
                           {Tensor::Of<float>({1, -2, -0.0F, 3}, Shape{2, 2})})
                .Optimized(),
            "");
}

}  // namespace
}  // namespace sardonyx::fuzz
