// ops/control/control_flow_test.cpp - If, Loop, Scan, sequences and optionals, as graphs in text.
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/evaluate.h"
#include "ops/infer.h"
#include "testing/evaluate_op.h"

namespace sardonyx::testing {
namespace {

using Reals = std::vector<float>;
using Longs = std::vector<std::int64_t>;
using Text = std::string;

std::vector<Value> RunGraph(const Text& graph_text, std::vector<Value> inputs, int opset = 21) {
  Model model = ParseModel("<ir_version: 10, opset_import: [\"\": " + std::to_string(opset) + "]>\n" + graph_text);
  const ops::Registry registry;
  ops::ResolveVersions(model.graph, registry, model);
  ops::Infer(model.graph, registry);
  return ops::EvaluateGraph(model.graph, registry, inputs);
}

Text ErrorOf(const Text& graph_text, std::vector<Value> inputs) {
  try {
    RunGraph(graph_text, std::move(inputs));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr const char* kIf = R"(g (bool c, float[N] x) => (float[M] y) {
  y = If (c) <then_branch = a () => (float[P] u) { u = Neg(x) }, else_branch = b () => (float[Q] v) { v = Concat <axis = 0> (x, x) }>
})";

TEST(IfOp, RunsTheBranchThatCapturesOuterValues) {
  EXPECT_EQ(Elements<float>(RunGraph(kIf, {Tensor::Scalar<bool>(true), Floats({1, 2})})[0]), (Reals{-1, -2}));
  EXPECT_EQ(Elements<float>(RunGraph(kIf, {Tensor::Scalar<bool>(false), Floats({1})})[0]), (Reals{1, 1}));
  EXPECT_NE(ErrorOf(kIf, {Tensor(DType::kBool, Shape{2}), Floats({1})}).find("one bool, found bool[2]"), Text::npos);
}

constexpr const char* kLoop = R"(g (int64 n, bool go, float[1] x) => (float[1] last, float[I, 1] all) {
  last, all = Loop (n, go, x) <body = b (int64 i, bool c, float[1] s) => (bool d, float[1] t, float[1] u) {
    d = Identity(c)  t = Add(s, s)  u = Identity(s)
  }>
})";

TEST(LoopOp, CarriesAndStacks) {
  auto y = RunGraph(kLoop, {Tensor::Scalar<std::int64_t>(5), Tensor::Scalar<bool>(true), Floats({1})});
  EXPECT_EQ(Elements<float>(y[0]), (Reals{32}));
  EXPECT_EQ(Elements<float>(y[1]), (Reals{1, 2, 4, 8, 16}));
  EXPECT_EQ(y[1].tensor().shape(), (Shape{5, 1}));
}

TEST(LoopOp, GivesItsTurnInTheRankThatTheBodyDeclares) {
  // A squeeze of the iteration number, and a condition that changes its rank from turn to turn.
  const auto y = RunGraph(R"(g (int64 n, bool c, float[1] x) => (float[M] last, int64[K] all) {
    last, all = Loop (n, c, x) <body = b (int64[1] i, bool[1] d, float[S] s) => (bool e, float[T] t, int64 u) {
      zero = Constant <value_ints = [0]> ()  e = Squeeze(d, zero)  u = Squeeze(i, zero)  f = Cast <to = 1> (i)
      t = Add(s, f)
    }>
  })",
                          {Tensor::Scalar<std::int64_t>(4), Tensor::Scalar<bool>(true), Floats({1})});
  EXPECT_EQ(Elements<float>(y[0]), (Reals{7}));
  EXPECT_EQ(Elements<std::int64_t>(y[1]), (Longs{0, 1, 2, 3}));
  EXPECT_EQ(y[1].tensor().shape(), (Shape{4}));
}

TEST(LoopOp, MayNeverRun) {
  for (const std::int64_t n : {0, -3}) {
    auto y = RunGraph(kLoop, {Tensor::Scalar(n), Tensor::Scalar<bool>(true), Floats({1})});
    EXPECT_EQ(Elements<float>(y[0]), (Reals{1}));
    EXPECT_EQ(y[1].tensor().shape(), (Shape{0, 1}));
  }
  EXPECT_EQ(
      RunGraph(kLoop, {Tensor::Scalar<std::int64_t>(9), Tensor::Scalar<bool>(false), Floats({1})})[1].tensor().count(),
      0);
}

TEST(LoopOp, SaysWhichScanOutputChangesItsShape) {
  const Text error = ErrorOf(R"(g (int64 n, float[K] x) => (float[L] last, float[I, J] all) {
    last, all = Loop (n, , x) <body = b (int64 i, bool c, float[S] s) => (bool d, float[T] t, float[U] u) {
      d = Identity(c)  t = Concat <axis = 0> (s, s)  u = Identity(s)
    }>
  })",
                             {Tensor::Scalar<std::int64_t>(2), Floats({1})});
  EXPECT_NE(error.find("scan output 0 of the body: expected float[1] as in the first iteration, found float[2]"),
            Text::npos)
      << error;
}

TEST(ScanOp, RunsBackwardsAlongAnAxis) {
  const auto y = RunGraph(R"(g (float[1] s, float[1, 3] x) => (float[1] last, float[1, 3] all) {
    last, all = Scan (s, x) <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [-1], scan_input_directions = [1],
      body = b (float[1] a, float[1] e) => (float[1] t, float[1] u) { t = Add(a, e)  u = Identity(t) }>
  })",
                          {Floats({10}), Tensor::Of<float>({1, 2, 3}, Shape{1, 3})});
  EXPECT_EQ(Elements<float>(y[0]), (Reals{16}));
  EXPECT_EQ(Elements<float>(y[1]), (Reals{13, 15, 16}));
  EXPECT_EQ(y[1].tensor().shape(), (Shape{1, 3}));
}

TEST(ScanOp, OfVersion8HasABatchAndLengths) {
  const auto y = RunGraph(
      R"(g (int64[2] lengths, float[2, 1] s, float[2, 2, 1] x) => (float[2, 1] last, float[2, 2, 1] all) {
    last, all = Scan (lengths, s, x) <num_scan_inputs = 1,
      body = b (float[1] a, float[1] e) => (float[1] t, float[1] u) { t = Add(a, e)  u = Identity(t) }>
  })",
      {Ints({2, 1}), Tensor::Of<float>({0, 0}, Shape{2, 1}), Tensor::Of<float>({1, 2, 3, 4}, Shape{2, 2, 1})}, 8);
  EXPECT_EQ(Elements<float>(y[0]), (Reals{3, 3}));
  EXPECT_EQ(Elements<float>(y[1]), (Reals{1, 3, 3, 0}));
}

TEST(SequenceOps, MakeChangeAndRead) {
  const auto y =
      RunGraph(R"(g (float[A] a, float[B] b, int64 at) => (float[C] item, int64 n, float[D] joined, int64 left) {
    s = SequenceConstruct(a, b)
    t = SequenceInsert(s, a, at)
    item = SequenceAt(t, at)
    n = SequenceLength(t)
    joined = ConcatFromSequence <axis = 0> (t)
    e = SequenceErase(t)
    left = SequenceLength(e)
  })",
               {Floats({1}), Floats({2, 3}), Tensor::Scalar<std::int64_t>(-1)});
  EXPECT_EQ(Elements<std::int64_t>(y[1])[0], 3);
  EXPECT_EQ(Elements<float>(y[2]), (Reals{1, 1, 2, 3}));
  EXPECT_EQ(Elements<std::int64_t>(y[3])[0], 2);
  const Text error =
      ErrorOf(R"(g (float[A] a, int64 at) => (float[C] item) { s = SequenceConstruct(a)  item = SequenceAt(s, at) })",
              {Floats({1}), Tensor::Scalar<std::int64_t>(1)});
  EXPECT_NE(error.find("expected a position in [-1, 0] in a sequence of 1 elements, found 1"), Text::npos) << error;
}

TEST(SequenceOps, SplitAndMap) {
  const auto y = RunGraph(R"(g (float[A, B] x) => (float[C, D] all) {
    s = SplitToSequence <axis = 1, keepdims = 0> (x)
    t = SequenceMap (s) <body = b (float[E] e) => (float[E] f) { f = Neg(e) }>
    all = ConcatFromSequence <axis = 0, new_axis = 1> (t)
  })",
                          {Tensor::Of<float>({1, 2, 3, 4}, Shape{2, 2})});
  EXPECT_EQ(Elements<float>(y[0]), (Reals{-1, -3, -2, -4}));
  EXPECT_NE(ErrorOfOp({"ConcatFromSequence", 11, {Value(Sequence{DType::kFloat, {}})}, {{"axis", std::int64_t{0}}}})
                .find("at least one tensor"),
            Text::npos);
}

TEST(OptionalOps, KnowWhetherThereIsAnElement) {
  const auto y = RunGraph(
      R"(g (float[A] x) => (bool h, float[B] e) { o = Optional(x)  h = OptionalHasElement(o)  e = OptionalGetElement(o) })",
      {Floats({4})});
  EXPECT_TRUE(Elements<bool>(y[0])[0]);
  EXPECT_EQ(Elements<float>(y[1]), (Reals{4}));
  EXPECT_FALSE(Elements<bool>(EvaluateOp({"OptionalHasElement", 18, {Value()}})[0])[0]);
  EXPECT_NE(ErrorOfOp({"OptionalGetElement", 18, {Value()}}).find("found an empty one"), Text::npos);
}

}  // namespace
}  // namespace sardonyx::testing
