// planner/plan_facts_test.cpp - plans made from the facts of another plan are those made from nothing, for less work.
#include "planner/plan_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/text.h"
#include "ops/infer.h"
#include "ops/tensor_ref.h"
#include "ops/upgrade.h"
#include "planner/make_plan.h"
#include "planner/plan_text.h"
#include "testing/environment.h"

namespace sardonyx::planner {
namespace {

void GiveToCpu(Graph& graph) {
  for (const NodeId id : graph.order) {
    graph.node(id).provider = providers::kCpuName;
    for (Graph* body : graph.node(id).Subgraphs()) GiveToCpu(*body);
  }
}

// All that a plan says but the places in arenas, which depend on the room that was left for values that grow.
std::string TextWithoutPlaces(const Outline& outline, Plan plan) {
  std::string text;
  for (const PlannedBuffer& buffer : plan.buffers)
    text += std::to_string(buffer.slot) + ": " + std::to_string(buffer.bytes) + " bytes, " +
            std::to_string(buffer.first) + " to " + std::to_string(buffer.last) + "\n";
  for (const int input : plan.updated_inputs) text += std::to_string(input) + " ";
  for (PlannedSlot& slot : plan.slots) slot.offset = 0;
  plan.buffers.clear();
  plan.arena_bytes.assign(plan.arena_bytes.size(), 0);
  return PlanText(outline, plan) + text;
}

// Every value lies in a storage that has its bytes, and no two storages that live at the same time share any.
void CheckPlaces(const Outline& outline, const Plan& plan) {
  std::vector<bool> has_place(plan.slots.size(), false);
  for (const PlannedBuffer& buffer : plan.buffers) {
    EXPECT_LE(buffer.offset + buffer.bytes, plan.arena_bytes[buffer.memory]);
    EXPECT_EQ(buffer.offset % 64, 0);
    for (const int slot : SlotsIn(outline, plan, buffer)) {
      has_place[slot] = true;
      EXPECT_LE(ByteSize(plan.slots[slot].dtype, plan.slots[slot].count), buffer.bytes);
    }
    for (const PlannedBuffer& other : plan.buffers) {
      if (&other == &buffer || other.first > buffer.last || buffer.first > other.last) continue;
      EXPECT_TRUE(other.offset >= buffer.offset + buffer.bytes || buffer.offset >= other.offset + other.bytes)
          << buffer.slot << " and " << other.slot;
    }
  }
  for (std::size_t slot = 0; slot < plan.slots.size(); ++slot) {
    if (plan.slots[slot].place != PlannedSlot::Place::kArena || plan.slots[slot].count == 0) continue;
    EXPECT_TRUE(has_place[slot]) << slot;
  }
}

class Planned {
 public:
  explicit Planned(const std::string& text)
      : model_(ParseModel("<ir_version: 10, opset_import: [\"\" : 21]> " + text)), graph_(model_.graph) {
    const ops::Registry& registry = testing::TestEnvironment()->registry();
    ops::ResolveVersions(graph_, registry, model_);
    ops::Infer(graph_, registry);
    ops::Upgrade(graph_, registry);
    GiveToCpu(graph_);
    outline_ = std::make_unique<const Outline>(graph_, registry, providers::ProviderSet());
  }

  // The plan made from the facts of the last one, in the memory of an older one, which must be the one made from
  // nothing but for its places. Returns the number of steps that it looked at.
  int Check(const std::vector<Tensor>& inputs) {
    std::vector<InputFact> given;
    for (const Tensor& input : inputs) given.push_back({ops::RefOf(input), Type(), Value()});
    KeyContents learned = learned_;
    const std::string fresh = TextWithoutPlaces(*outline_, *MakePlan(*outline_, given, 1, learned));
    if (kept_.size() > 2) {
      facts_.spare = std::const_pointer_cast<Plan>(kept_.front());
      kept_.erase(kept_.begin());
    }
    const Plan* spare = facts_.spare.get();
    const std::shared_ptr<const Plan> plan = MakePlan(*outline_, given, 1, learned_, &facts_);
    EXPECT_EQ(facts_.spare, nullptr);
    in_spares_ += plan.get() == spare ? 1 : 0;
    EXPECT_EQ(TextWithoutPlaces(*outline_, *plan), fresh);
    CheckResized(*plan);
    kept_.push_back(plan);
    CheckPlaces(*outline_, *plan);
    CheckShapes(inputs, *plan);
    refitted_ += facts_.refitted ? 1 : 0;
    EXPECT_EQ(learned.inputs, learned_.inputs);
    EXPECT_EQ(learned.futile, learned_.futile);
    return facts_.inferred;
  }
  void CheckFails(const std::vector<Tensor>& inputs) {
    std::vector<InputFact> given;
    for (const Tensor& input : inputs) given.push_back({ops::RefOf(input), Type(), Value()});
    EXPECT_THROW(MakePlan(*outline_, given, 1, learned_, &facts_), Error);
    EXPECT_TRUE(facts_.slots.empty());
  }
  const PlanFacts& facts() const { return facts_; }
  int refitted() const { return refitted_; }  // plans that took over the places of the plan before
  int in_spares() const { return in_spares_; }

 private:
  // What a run state need not bind again is as it is in all plans with the same places.
  void CheckResized(const Plan& plan) const {
    for (const std::shared_ptr<const Plan>& other : kept_) {
      if (!plan.HasPlacesOf(*other)) continue;
      EXPECT_TRUE(
          std::includes(plan.resized.begin(), plan.resized.end(), other->resized.begin(), other->resized.end()));
      EXPECT_EQ(plan.arena_bytes, other->arena_bytes);
      for (int slot = 0; slot < static_cast<int>(plan.slots.size()); ++slot) {
        const PlannedSlot &a = plan.slots[slot], &b = other->slots[slot];
        EXPECT_TRUE(a.place == b.place && a.offset == b.offset && a.source == b.source && a.memory == b.memory);
        if (std::binary_search(plan.resized.begin(), plan.resized.end(), slot)) continue;
        EXPECT_EQ(ToText(a.shape), ToText(b.shape)) << slot;
        ASSERT_EQ(a.known.defined(), b.known.defined()) << slot;
        if (a.known.defined()) {
          EXPECT_EQ(a.known.raw(), b.known.raw()) << slot;
        }
      }
    }
  }
  // Shapes are those that inference over the whole graph gives, which knows nothing of other steps or plans.
  void CheckShapes(const std::vector<Tensor>& inputs, const Plan& plan) const {
    Graph graph = graph_;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      graph.value(graph.inputs[i]).type = Type::TensorOf(inputs[i].dtype(), inputs[i].shape());
    ops::Infer(graph, testing::TestEnvironment()->registry());
    for (std::size_t slot = 0; slot < plan.slots.size(); ++slot) {
      const ValueInfo& value = graph.value(outline_->slots()[slot].value);
      if (plan.slots[slot].dtype == DType::kUndefined || !value.type.HasStaticShape()) continue;
      if (plan.slots[slot].place == PlannedSlot::Place::kLate) continue;
      EXPECT_EQ(ToText(plan.slots[slot].shape), ToText(value.type.StaticShape())) << value.name;
      EXPECT_EQ(plan.slots[slot].dtype, value.type.dtype) << value.name;
    }
  }
  Model model_;
  Graph graph_;
  std::unique_ptr<const Outline> outline_;
  KeyContents learned_;
  PlanFacts facts_;
  int refitted_ = 0, in_spares_ = 0;
  std::vector<std::shared_ptr<const Plan>> kept_;  // the last ones
};

Tensor Floats(Shape shape) {
  Tensor zeros(DType::kFloat, std::move(shape));
  std::fill_n(zeros.data<float>(), zeros.count(), 0.0f);
  return zeros;
}

// A cache that grows by a token, beside a layer that does not see its length.
constexpr auto kDecoder = R"(g (float[b,s,4] x, float[b,past,4] cache) => (float[b,s,4] y, float[b,total,4] grown)
    <float[4,4] w = {1,0,0,0, 0,1,0,0, 0,0,1,0, 0,0,0,1}> {
  q = MatMul(x, w)
  a = Relu(q)
  grown = Concat<axis = 1>(cache, a)
  turned = Transpose<perm = [0,2,1]>(grown)
  scores = MatMul(a, turned)
  weights = Softmax(scores)
  mixed = MatMul(weights, grown)
  b = Add(mixed, x)
  c = MatMul(b, w)
  d = Tanh(c)
  y = Softmax(d)
})";

TEST(PlanFacts, OnlyStepsThatSeeTheNewLengthAreLookedAt) {
  Planned g(kDecoder);
  EXPECT_EQ(g.Check({Floats({1, 1, 4}), Floats({1, 5, 4})}), 10);  // the second product with w is like the first
  for (int past = 6; past < 106; ++past)
    EXPECT_EQ(g.Check({Floats({1, 1, 4}), Floats({1, past, 4})}), 5) << past;  // Concat to the second MatMul
  EXPECT_EQ(g.Check({Floats({1, 1, 4}), Floats({1, 105, 4})}), 0);
}

TEST(PlanFacts, OtherLengthsBatchesAndEmptyCachesChangeWhatDependsOnThem) {
  Planned g(kDecoder);
  g.Check({Floats({1, 7, 4}), Floats({1, 0, 4})});
  g.Check({Floats({1, 1, 4}), Floats({1, 7, 4})});
  g.Check({Floats({3, 1, 4}), Floats({3, 7, 4})});
  g.Check({Floats({3, 0, 4}), Floats({3, 0, 4})});
  g.Check({Floats({1, 7, 4}), Floats({1, 0, 4})});
}

TEST(PlanFacts, GrowingLengthsKeepTheirPlacesButForAFewSteps) {
  Planned g(kDecoder);
  for (int past = 1; past <= 400; ++past) g.Check({Floats({1, 1, 4}), Floats({1, past, 4})});
  EXPECT_GE(g.refitted(), 390);   // the first two plans, and one for each time that the room is used up
  EXPECT_GE(g.in_spares(), 370);  // but for the first three plans in places of their own
}

TEST(PlanFacts, LongRowsLeaveTheirPlacesNowAndThen) {
  Planned g(
      "g (float[n,512] x) => (float[n,512] y) { a = Relu(x)\n t = MatMul(a, w)\n y = Tanh(t)\n"
      "w = ConstantOfShape<value = float[1] {1}>(s)\n s = Constant<value_ints = [512,512]>() }");
  for (int rows = 10; rows <= 200; ++rows) g.Check({Floats({rows, 512})});
  EXPECT_GE(g.refitted(), 150);
  EXPECT_LE(g.refitted(), 185);  // an eighth more at a time
  const int before = g.refitted();
  for (int rows = 200; rows > 0; --rows) g.Check({Floats({rows, 512})});
  EXPECT_GE(g.refitted(), before + 150);  // a smaller value has room, but no memory is kept that nobody needs
  EXPECT_LE(g.refitted(), before + 190);
  const int small = g.refitted();
  g.Check({Floats({0, 512})});
  g.Check({Floats({300, 512})});
  EXPECT_EQ(g.refitted(), small);
}

TEST(PlanFacts, WhatSharesMemoryDependsOnEqualSizes) {
  // The sum may be written over either of its inputs if it has that input's size, and q over p.
  Planned g(R"(g (float[n,4] x, float[m,4] z) => (float[k,4] y) {
    a = Relu(x)
    b = Tanh(z)
    c = Add(a, b)
    p = Concat<axis = 0>(c, z)
    q = Sigmoid(p)
    y = Softmax(q)
  })");
  for (const auto& [n, m] : std::vector<std::pair<int, int>>{
           {1, 1}, {1, 2}, {1, 3}, {1, 4}, {4, 4}, {4, 1}, {3, 1}, {3, 3}, {1, 3}, {1, 1}, {2, 2}, {3, 3}, {4, 4}})
    g.Check({Floats({n, 4}), Floats({m, 4})});
  EXPECT_GE(g.refitted(), 4);
  EXPECT_LE(g.refitted(), 8);
}

TEST(PlanFacts, APlanThatFailsLeavesNone) {
  Planned g(kDecoder);
  g.Check({Floats({1, 1, 4}), Floats({1, 5, 4})});
  g.CheckFails({Floats({2, 1, 4}), Floats({3, 5, 4})});
  EXPECT_EQ(g.Check({Floats({1, 1, 4}), Floats({1, 6, 4})}), 10);
}

// Layers with caches of their own: what is inferred for the first layer serves the others.
std::string Layers(int count) {
  std::string inputs = "float[b,1,4] x0", outputs = "float[b,1,4] x" + std::to_string(count), nodes;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i), axis = i == 2 ? "-2" : "1";
    inputs += ", float[b,past" + n + ",4] c" + n;
    outputs += ", float[b,total" + n + ",4] g" + n;
    nodes += "g" + n + " = Concat<axis = " + axis + ">(c" + n + ", x" + n + ")\n t" + n +
             " = Transpose<perm = [0,2,1]>(g" + n + ")\n s" + n + " = MatMul(x" + n + ", t" + n + ")\n w" + n +
             " = Softmax(s" + n + ")\n x" + std::to_string(i + 1) + " = MatMul(w" + n + ", g" + n + ")\n";
  }
  return "g (" + inputs + ") => (" + outputs + ") {\n" + nodes + "}";
}

TEST(PlanFacts, LayersLikeOneAnotherAreInferredOnce) {
  Planned g(Layers(6));
  const auto given = [](std::vector<std::int64_t> lengths) {
    std::vector<Tensor> inputs = {Floats({2, 1, 4})};
    for (const std::int64_t length : lengths) inputs.push_back(Floats({2, length, 4}));
    return inputs;
  };
  // All but the first layer, and the third's Concat, which has another attribute.
  EXPECT_EQ(g.Check(given({5, 5, 5, 5, 5, 5})), 6);
  for (int past = 6; past < 40; ++past) EXPECT_EQ(g.Check(given({past, past, past, past, past, past})), 6) << past;
  // Other lengths are other facts: the last layers have one of their own, or that of the first.
  EXPECT_EQ(g.Check(given({7, 8, 9, 10, 11, 12})), 30);
  EXPECT_EQ(g.Check(given({7, 8, 9, 10, 7, 8})), 10);  // steps that are not looked at serve no others
  EXPECT_EQ(g.Check(given({2, 4, 2, 4, 2, 4})), 11);
  EXPECT_EQ(g.Check(given({3, 5, 3, 5, 3, 5})), 10);  // a square: the layer's second product is like its first
  EXPECT_EQ(g.Check(given({0, 1, 0, 1, 0, 1})), 11);
}

TEST(PlanFacts, LengthsBecomeContentsAndContentsShapes) {
  Planned g(R"(g (float[n,m] x) => (float[k] y, int64[j] places) <int64[1] minus = {-1}, int64[1] two = {2}> {
    shape = Shape(x)
    rows = Gather<axis = 0>(shape, zero)
    half = Div(rows, two)
    target = Concat<axis = 0>(half, minus)
    r = Reshape(x, target)
    flat = Reshape(r, minus)
    y = Relu(flat)
    all = NonZero(y)
    places = Reshape(all, minus)
    zero = Constant<value_ints = [0]>()
  })");
  for (const int rows : {2, 4, 4, 6, 100, 2, 0}) g.Check({Floats({rows, 3})});
}

TEST(PlanFacts, ContentsOfInputsInTheKeyCountAsChanges) {
  Planned g("g (float[n] x, int64[2] shape) => (float[a,b] y) { r = Reshape(x, shape)\n y = Softmax(r) }");
  g.Check({Floats({12}), Tensor::Of<std::int64_t>({3, 4}, {2})});
  EXPECT_EQ(g.Check({Floats({12}), Tensor::Of<std::int64_t>({4, 3}, {2})}), 2);
  EXPECT_EQ(g.Check({Floats({12}), Tensor::Of<std::int64_t>({4, 3}, {2})}), 0);
  g.Check({Floats({15}), Tensor::Of<std::int64_t>({5, 3}, {2})});
}

TEST(PlanFacts, TheBranchOfAnIfFollowsTheLength) {
  Planned g(R"(g (float[n] x, float[2] z) => (float[m] y, float[2] t) <int64[1] four = {4}> {
    shape = Shape(x)
    many = Greater(shape, four)
    y = If(many) <then_branch = a () => (float[p] u) { u = Concat<axis = 0>(x, z) },
                  else_branch = b () => (float[p] v) { v = Relu(x) }>
    t = Tanh(z)
  })");
  for (const int n : {3, 5, 4, 6, 3, 3}) g.Check({Floats({n}), Floats({2})});
}

TEST(PlanFacts, FactsAreTheSameOnlyWithTheSameTypeAndContents) {
  const Type type = Type::TensorOf(DType::kInt64, Shape{2});
  const PlanFact fact{type, Tensor::Of<std::int64_t>({1, 2}, {2}), true};
  EXPECT_TRUE(fact == (PlanFact{type, Tensor::Of<std::int64_t>({1, 2}, {2}), true}));
  EXPECT_FALSE(fact == (PlanFact{type, Tensor::Of<std::int64_t>({1, 3}, {2}), true}));
  EXPECT_FALSE(fact == (PlanFact{type, Value(), true}));
  EXPECT_FALSE(fact == (PlanFact{type, Tensor::Of<std::int64_t>({1, 2}, {2}), false}));
  EXPECT_FALSE((PlanFact{type, Value(), true}) == (PlanFact{Type::TensorOf(DType::kInt64, Shape{3}), Value(), true}));
}

}  // namespace
}  // namespace sardonyx::planner
