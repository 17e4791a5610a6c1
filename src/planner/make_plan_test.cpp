// planner/make_plan_test.cpp - plans of small graphs, compared as text.
#include "planner/make_plan.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/infer.h"
#include "ops/tensor_ref.h"
#include "planner/plan_text.h"
#include "testing/environment.h"

namespace sardonyx::planner {
namespace {

// A graph that is ready to run on the CPU.
class ReadyToPlan {
 public:
  explicit ReadyToPlan(const std::string& text) : graph_(ParseGraph(text)) {
    GiveToCpu(graph_);
    ops::Infer(graph_, registry());
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

  Graph graph_;
  std::unique_ptr<const Outline> outline_;
  KeyContents learned_;
};

Tensor Floats(Shape shape) { return Tensor(DType::kFloat, std::move(shape)); }

TEST(MakePlan, AViewLiesInTheBytesThatItViewsAndHasNothingToDo) {
  ReadyToPlan g(R"(g (float[n,m] x) => (float[k] y) <int64[1] flat = {-1}> {
    a = Softmax(x)
    v = Reshape(a, flat)
    y = Softmax(v)
  })");
  EXPECT_EQ(g.Text({Floats({2, 3})}), R"()");
}

TEST(MakePlan, AnElementwiseStepWritesOverItsInputWhenNobodyReadsThatLater) {
  ReadyToPlan g(R"(g (float[n] x) => (float[n] y, float[n] z) {
    a = Softmax(x)
    b = Relu(a)
    c = Tanh(b)
    y = Softmax(c)
    z = Softmax(b)
  })");
  EXPECT_EQ(g.Text({Floats({100})}), R"()");
}

TEST(MakePlan, OutputsThatViewInputsOrShareBytesAreCopied) {
  ReadyToPlan g(R"(g (float[n,m] x) => (float[k] y, float[n,m] a, float[k] b, float[2] w)
  <int64[1] flat = {-1}, float[2] w = {1, 2}> {
    y = Reshape(x, flat)
    a = Softmax(x)
    b = Reshape(a, flat)
  })");
  EXPECT_EQ(g.Text({Floats({2, 3})}), R"()");
}

TEST(MakePlan, TheBranchOfAnIfIsChosenWhenShapesDecideIt) {
  ReadyToPlan g(R"(g (float[n] x) => (float[m] y) <int64[1] two = {2}> {
    s = Shape(x)
    c = Greater(s, two)
    y = If<then_branch = large () => (float[n] o) { o = Tanh(x) },
           else_branch = small () => (float[k] p) { p = Concat<axis = 0>(x, x) }>(c)
  })");
  const auto plan = g.Make({Floats({3})});
  EXPECT_EQ(PlanText(g.outline(), *plan), R"()");
  const Step& step = g.outline().steps().back();
  ASSERT_NE(plan->steps.back().body, nullptr);
  EXPECT_EQ(PlanText(*step.bodies[0], *plan->steps.back().body), R"()");
  EXPECT_EQ(g.Text({Floats({2})}), R"()");
}

TEST(MakePlan, ContentsOnWhichShapesDependJoinTheKey) {
  ReadyToPlan g(R"(g (float[n] x, int64[r] target) => (float[] y) {
    a = Relu(x)
    b = Reshape(a, target)
    y = Softmax(b)
  })");
  const std::vector<Tensor> inputs = {Floats({6}), Tensor::Of<std::int64_t>({2, -1}, Shape{2})};
  EXPECT_EQ(g.Text(inputs), R"()");
  const auto plan = g.Make(inputs);
  const auto fits = [&](const Tensor& x, const Tensor& target) {
    return plan->Matches(
        std::vector<InputFact>{{ops::RefOf(x), Type(), Value()}, {ops::RefOf(target), Type(), Value()}});
  };
  EXPECT_TRUE(fits(Floats({6}), Tensor::Of<std::int64_t>({2, -1}, Shape{2})));
  EXPECT_FALSE(fits(Floats({6}), Tensor::Of<std::int64_t>({3, -1}, Shape{2})));
  EXPECT_FALSE(fits(Floats({7}), Tensor::Of<std::int64_t>({2, -1}, Shape{2})));
}

TEST(MakePlan, StepsWhoseShapesComeWithTheDataAreLate) {
  ReadyToPlan g(R"(g (float[n] x, float[4] w) => (float[k] y, float[4] z) {
    a = Relu(x)
    p = NonZero(a)
    y = Gather(a, p)
    s = Squeeze(y)
    z = Add(s, w)
  })");
  EXPECT_EQ(g.Text({Floats({6}), Floats({4})}), R"()");
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
  EXPECT_EQ(g.Text({Floats({256, 256})}, 2), R"()");
  EXPECT_EQ(g.Text({Floats({4, 4})}, 2), g.Text({Floats({4, 4})}, 1)) << "too little work for two threads";
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
