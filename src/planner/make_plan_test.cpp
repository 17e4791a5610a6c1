// planner/make_plan_test.cpp - plans of small graphs, compared as text.
#include "planner/make_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "ops/infer.h"
#include "ops/tensor_ref.h"
#include "ops/upgrade.h"
#include "planner/plan_text.h"
#include "testing/environment.h"

namespace sardonyx::planner {
namespace {

// A graph that is ready to run on the CPU.
class ReadyToPlan {
 public:
  explicit ReadyToPlan(const std::string& text)
      : model_(ParseModel("<ir_version: 10, opset_import: [\"\" : 21, \"ai.sardonyx\" : 1]> " + text)),
        graph_(model_.graph) {
    ops::ResolveVersions(graph_, registry(), model_);
    ops::Infer(graph_, registry());
    ops::Upgrade(graph_, registry());
    GiveToCpu(graph_);
    outline_ = std::make_unique<const Outline>(graph_, registry(), providers::ProviderSet());
  }

  std::shared_ptr<const Plan> Make(const std::vector<Tensor>& inputs, int threads = 1) {
    std::vector<InputFact> facts;
    for (const Tensor& input : inputs) facts.push_back({ops::RefOf(input), Type(), Value()});
    return MakePlan(*outline_, facts, threads, learned_);
  }
  std::string Text(const std::vector<Tensor>& inputs, int threads = 1) {
    return PlanText(*outline_, *Make(inputs, threads));
  }
  const Outline& outline() const { return *outline_; }

 private:
  static const ops::Registry& registry() { return testing::TestEnvironment()->registry(); }
  static void GiveToCpu(Graph& graph) {
    for (const NodeId id : graph.order) {
      graph.node(id).provider = providers::kCpuName;
      for (Graph* body : graph.node(id).Subgraphs()) GiveToCpu(*body);
    }
  }

  Model model_;
  Graph graph_;
  std::unique_ptr<const Outline> outline_;
  KeyContents learned_;
};

Tensor Floats(Shape shape) {
  Tensor zeros(DType::kFloat, std::move(shape));
  std::fill_n(zeros.data<float>(), zeros.count(), 0.0f);
  return zeros;
}

TEST(MakePlan, AViewLiesInTheBytesThatItViewsAndHasNothingToDo) {
  ReadyToPlan g(R"(g (float[n,m] x) => (float[k] y) <int64[1] flat = {-1}> {
    a = Softmax(x)
    v = Reshape(a, flat)
    y = Softmax(v)
  })");
  EXPECT_EQ(g.Text({Floats({2, 3})}), R"(plan of g(float[2,3] x)
steps:
  0  a = Softmax(x)
  2  y = Softmax(v)
values:
  x  float[2,3]  input x
  a  float[2,3]  arena host + 0
  flat  int64[1]  constant
  v  float[6]  arena host + 0
  y  float[6]  output y
buffers:
  host + 0, 24 bytes, steps 0 to 2: a, v
arenas: host 64 bytes
outputs: y direct
)");
}

TEST(MakePlan, PartsOfAConcatAreComputedInItAndThoseOfASplitReadWhereTheyLie) {
  ReadyToPlan g(R"(g (float[n,9,16] x) => (float[n,9,8] y, float[n,9,24] z) <int64[2] sizes = {8, 24}> {
    a = Add(x, x)
    b = Mul(x, a)
    c = Concat<axis = -1>(a, b)
    l, r = Split<axis = 2>(c, sizes)
    y = Add(l, l)
    z = Softmax(r)
  } )");
  EXPECT_EQ(g.Text({Floats({1, 9, 16})}), R"(plan of g(float[1,9,16] x)
steps:
  0  a = Add(x, x)
  1  b = Mul(x, a)
  3  l, r = Split(c, sizes)
  4  y = Add(l, l)
  5  z = Softmax(r)
values:
  x  float[1,9,16]  input x
  a  float[1,9,16]  arena host + 0, rows 32 apart
  b  float[1,9,16]  arena host + 64, rows 32 apart
  c  float[1,9,32]  arena host + 0
  sizes  int64[2]  constant
  l  float[1,9,8]  arena host + 0, rows 32 apart
  r  float[1,9,24]  arena host + 1152
  y  float[1,9,8]  output y
  z  float[1,9,24]  output z
buffers:
  host + 0, 1152 bytes, steps 0 to 4: a, c, l
  host + 1152, 864 bytes, steps 3 to 5: r
arenas: host 2048 bytes
outputs: y direct, z direct
)");
}

TEST(MakePlan, AConcatIsAPartOfALaterOneAndReadWhereItLies) {
  ReadyToPlan g(R"(g (float[n,9,16] x) => (float[n,9,32] y, float[n,9,48] z) {
    a = Add(x, x)
    b = Mul(x, a)
    c = Concat<axis = -1>(a, b)
    y = ai.sardonyx.FusedElementwise<steps = ["Relu"], operands = [0, 0], parameters = [0.0, 0.0]>(c)
    d = Sub(x, b)
    e = Concat<axis = -1>(c, d)
    z = ai.sardonyx.FusedElementwise<steps = ["Relu"], operands = [0, 0], parameters = [0.0, 0.0]>(e)
  } )");
  EXPECT_EQ(g.Text({Floats({1, 9, 16})}), R"(plan of g(float[1,9,16] x)
steps:
  0  a = Add(x, x)
  1  b = Mul(x, a)
  3  y = ai.sardonyx.FusedElementwise(c)
  4  d = Sub(x, b)
  6  z = ai.sardonyx.FusedElementwise(e)
values:
  x  float[1,9,16]  input x
  a  float[1,9,16]  output z, rows 48 apart
  b  float[1,9,16]  output z, rows 48 apart
  c  float[1,9,32]  output z, rows 48 apart
  y  float[1,9,32]  output y
  d  float[1,9,16]  output z, rows 48 apart
  e  float[1,9,48]  output z
  z  float[1,9,48]  output z
arenas: host 0 bytes
outputs: y direct, z direct
)");
}

TEST(MakePlan, AnElementwiseStepWritesOverItsInputWhenNobodyReadsThatLater) {
  ReadyToPlan g(R"(g (float[n] x) => (float[n] y, float[n] z) {
    a = Softmax(x)
    b = Relu(a)
    c = Tanh(b)
    y = Softmax(c)
    z = Softmax(b)
  })");
  EXPECT_EQ(g.Text({Floats({100})}), R"(plan of g(float[100] x)
steps:
  0  a = Softmax(x)
  1  b = Relu(a)
  2  c = Tanh(b)
  3  y = Softmax(c)
  4  z = Softmax(b)
values:
  x  float[100]  input x
  a  float[100]  arena host + 0
  b  float[100]  arena host + 0
  c  float[100]  arena host + 448
  y  float[100]  output y
  z  float[100]  output z
buffers:
  host + 0, 400 bytes, steps 0 to 4: a, b
  host + 448, 400 bytes, steps 2 to 3: c
arenas: host 896 bytes
outputs: y direct, z direct
)");
}

TEST(MakePlan, OutputsThatViewInputsOrShareBytesAreCopied) {
  ReadyToPlan g(R"(g (float[n,m] x) => (float[k] y, float[n,m] a, float[k] b, float[2] w)
  <int64[1] flat = {-1}, float[2] w = {1, 2}> {
    y = Reshape(x, flat)
    a = Softmax(x)
    b = Reshape(a, flat)
  })");
  EXPECT_EQ(g.Text({Floats({2, 3})}), R"(plan of g(float[2,3] x)
steps:
  1  a = Softmax(x)
values:
  x  float[2,3]  input x
  flat  int64[1]  constant
  y  float[6]  input x
  a  float[2,3]  output a
  b  float[6]  output a
  w  float[2]  constant
arenas: host 0 bytes
outputs: y copied, a direct, b copied, w copied
)");
}

TEST(MakePlan, TheBranchOfAnIfIsChosenWhenShapesDecideIt) {
  ReadyToPlan g(R"(g (float[n] x) => (float[m] y) <int64[1] two = {2}> {
    s = Shape(x)
    c = Greater(s, two)
    y = If<then_branch = large () => (float[n] o) { o = Tanh(x) },
           else_branch = small () => (float[k] p) { p = Concat<axis = 0>(x, x) }>(c)
  })");
  const auto plan = g.Make({Floats({3})});
  EXPECT_EQ(PlanText(g.outline(), *plan), R"(plan of g(float[3] x)
steps:
  2  y = If(c)  branch large
values:
  x  float[3]  input x
  s  int64[1]  constant, known {3}
  two  int64[1]  constant
  c  bool[1]  constant, known {1}
  y  float[3]  output y
arenas: host 0 bytes
outputs: y direct
)");
  const Step& step = g.outline().steps().back();
  ASSERT_NE(plan->steps.back().body, nullptr);
  EXPECT_EQ(PlanText(*step.bodies[0], *plan->steps.back().body), R"(plan of large(float[3] x)
steps:
  0  o = Tanh(x)
values:
  x  float[3]  input x
  o  float[3]  output o
arenas: host 0 bytes
outputs: o direct
)");
  EXPECT_EQ(g.Text({Floats({2})}), R"(plan of g(float[2] x)
steps:
  2  y = If(c)  branch small
values:
  x  float[2]  input x
  s  int64[1]  constant, known {2}
  two  int64[1]  constant
  c  bool[1]  constant, known {0}
  y  float[4]  output y
arenas: host 0 bytes
outputs: y direct
)");
}

TEST(MakePlan, ContentsOnWhichShapesDependJoinTheKey) {
  ReadyToPlan g(R"(g (float[n] x, int64[r] target) => (float[] y) {
    a = Relu(x)
    b = Reshape(a, target)
    y = Softmax(b)
  })");
  const std::vector<Tensor> inputs = {Floats({24}), Tensor::Of<std::int64_t>({2, -1}, Shape{2})};
  EXPECT_EQ(g.Text(inputs), R"(plan of g(float[24] x, int64[2] target {2, -1})
steps:
  0  a = Relu(x)
  2  y = Softmax(b)
values:
  x  float[24]  input x
  target  int64[2]  input target, known {2, -1}
  a  float[24]  arena host + 0
  b  float[2,12]  arena host + 0
  y  float[2,12]  output y
buffers:
  host + 0, 96 bytes, steps 0 to 2: a, b
arenas: host 128 bytes
outputs: y direct
)");
  const auto plan = g.Make(inputs);
  const auto fits = [&](const Tensor& x, const Tensor& target) {
    return plan->Matches(
        std::vector<InputFact>{{ops::RefOf(x), Type(), Value()}, {ops::RefOf(target), Type(), Value()}});
  };
  EXPECT_TRUE(fits(Floats({24}), Tensor::Of<std::int64_t>({2, -1}, Shape{2})));
  EXPECT_FALSE(fits(Floats({24}), Tensor::Of<std::int64_t>({3, -1}, Shape{2})));
  EXPECT_FALSE(fits(Floats({25}), Tensor::Of<std::int64_t>({2, -1}, Shape{2})));
}

TEST(MakePlan, StepsWhoseShapesComeWithTheDataAreLate) {
  ReadyToPlan g(R"(g (float[n] x, float[24] w) => (float[k] y, float[24] z) {
    a = Relu(x)
    p = NonZero(a)
    y = Gather(a, p)
    s = Squeeze(y)
    z = Add(s, w)
  })");
  EXPECT_EQ(g.Text({Floats({24}), Floats({24})}), R"(plan of g(float[24] x, float[24] w)
steps:
  0  a = Relu(x)
  1  p = NonZero(a)  late
  2  y = Gather(a, p)  late
  3  s = Squeeze(y)  late
  4  z = Add(s, w)  late
values:
  x  float[24]  input x
  w  float[24]  input w
  a  float[24]  arena host + 0
  p  late
  y  late
  s  late
  z  late
buffers:
  host + 0, 96 bytes, steps 0 to 2: a
arenas: host 128 bytes
outputs: y late, z late
)");
}

TEST(MakePlan, BranchesAreTasksOfAStageAndShareNoBytes) {
  ReadyToPlan g(R"(g (float[n,n] x) => (float[n,n] y) {
    a = Relu(x)
    b = MatMul(a, x)
    c = Softmax(b)
    d = MatMul(x, a)
    e = Softmax(d)
    y = Add(c, e)
  })");
  EXPECT_EQ(g.Text({Floats({256, 256})}, 2), R"(plan of g(float[256,256] x)
stages:
  0  a = Relu(x)
  at once, 1 of 2:
    1  b = MatMul(a, x)
    2  c = Softmax(b)
  at once, 2 of 2:
    3  d = MatMul(x, a)
    4  e = Softmax(d)
  5  y = Add(c, e)
values:
  x  float[256,256]  input x
  a  float[256,256]  arena host + 0
  b  float[256,256]  arena host + 524288
  c  float[256,256]  output y
  d  float[256,256]  arena host + 786432
  e  float[256,256]  arena host + 262144
  y  float[256,256]  output y
buffers:
  host + 0, 262144 bytes, steps 0 to 4: a
  host + 524288, 262144 bytes, steps 1 to 2: b
  host + 786432, 262144 bytes, steps 3 to 4: d
  host + 262144, 262144 bytes, steps 1 to 5: e
arenas: host 1048576 bytes
outputs: y direct
)");
  EXPECT_EQ(g.Text({Floats({4, 4})}, 2), g.Text({Floats({4, 4})}, 1)) << "too little work for two threads";
}

TEST(MakePlan, TheLastTaskDoesNotOverwriteWhatAnotherOneReads) {
  ReadyToPlan g(R"(g (float[n,n] x) => (float[n,n] y) {
    a = Relu(x)
    b = Softmax(a)
    d = Neg(a)
    y = MatMul(b, d)
  })");
  const std::string text = g.Text({Floats({256, 256})}, 2);
  EXPECT_NE(text.find("at once, 2 of 2:\n    2  d = Neg(a)\n"), std::string::npos) << text;
  EXPECT_EQ(text.find(": a, d\n"), std::string::npos) << text;
  EXPECT_NE(text.find(": d\n"), std::string::npos) << text;
  EXPECT_NE(g.Text({Floats({256, 256})}, 1).find(": a, d\n"), std::string::npos) << "one thread may";
}

TEST(MakePlan, AnErrorNamesTheNode) {
  ReadyToPlan g("g (float[n] x, float[m] w) => (float[k] y) { [sum] y = Add(x, w) }");
  try {
    g.Text({Floats({3}), Floats({4})});
    ADD_FAILURE() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("[Add] node 'sum'"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sardonyx::planner
