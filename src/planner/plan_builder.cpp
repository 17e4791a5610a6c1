// planner/plan_builder.cpp - walks over the steps of a plan: shapes, contents and branches.
#include "planner/plan_builder.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/current_error.h"
#include "ops/evaluate.h"
#include "ops/integers.h"
#include "ops/tensor_ref.h"
#include "planner/foreign_steps.h"
#include "tensor/dropped_bytes.h"

namespace sardonyx::planner {
namespace {

constexpr std::int64_t kMaxKnownElements = 1024;  // of values computed while planning
constexpr std::int64_t kMaxKeyElements = 16;      // of inputs whose contents may become part of the key
constexpr int kMaxDepth = 2000;                   // of the search for such inputs

// Symbols of the model say nothing about this run.
Type WithoutSymbols(Type type) {
  for (Dim& dim : type.dims)
    if (!dim.known()) dim = Dim();
  return type;
}

Type WithoutShape(const Type& type) {
  if (!type.is_tensor()) return WithoutSymbols(type);
  return Type::TensorOf(type.dtype);
}

// In place: a decoder has two caches a layer, all of which grow by each token. Whether any size differs.
bool TakeSizes(Dims sizes, Type& type) {
  bool differs = false;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (type.dims[i].known() && type.dims[i].number() == sizes[i]) continue;
    type.dims[i] = Dim(sizes[i]);
    differs = true;
  }
  return differs;
}

bool IsStatic(const Type& type) { return type.is_tensor() && type.dtype != DType::kUndefined && type.HasStaticShape(); }

}  // namespace

PlanBuilder::PlanBuilder(const Outline& outline, std::span<const InputFact> inputs, int threads,
                         const KeyContents& learned, PlanFacts before)
    : outline_(outline),
      inputs_(inputs),
      threads_(threads),
      learned_(learned),
      plan_(Reusable(before)),
      facts_(std::move(before.slots)),
      outcomes_(std::move(before.steps)),
      before_(std::move(before.plan)),
      has_facts_before_(!facts_.empty()) {}

std::shared_ptr<Plan> PlanBuilder::Build() {
  BeginFacts();
  AddInputs();
  plan_->steps.reserve(outline_.steps().size());
  for (int step = 0; step < static_cast<int>(outline_.steps().size()); ++step) PlanStep(step);
  refitted_ = Refit();
  if (!refitted_) PlaceSlots();
  return plan_;
}

void PlanBuilder::BeginFacts() {
  const std::size_t slots = outline_.slots().size();
  input_of_.assign(slots, -1);
  for (std::size_t i = 0; i < outline_.inputs().size(); ++i) input_of_[outline_.inputs()[i]] = static_cast<int>(i);
  changed_.assign(slots, !has_facts_before_);
  latest_.assign(outline_.kinds(), -1);
  previous_.assign(outline_.steps().size(), -1);
  if (!has_facts_before_) outcomes_.assign(outline_.steps().size(), Outcome::kOpen);
  FindUnsettled();
  if (has_facts_before_) return;
  facts_.reserve(slots);
  for (std::size_t i = 0; i < slots; ++i) facts_.push_back(InitialFact(static_cast<int>(i)));
}

PlanBuilder::Fact PlanBuilder::InitialFact(int slot) const {
  const SlotInfo& info = outline_.slots()[slot];
  // A declared shape is a claim; a plan rests on what inference says for this run's inputs.
  if (info.constant == nullptr)
    return {info.producer >= 0 ? WithoutShape(*info.type) : WithoutSymbols(*info.type), Value(), false};
  // Contents may be where nobody can read them here.
  const bool readable = OnHost(slot) && HasData(*info.constant);
  return {Type::TensorOf(info.constant->dtype(), info.constant->shape()), readable ? Value(*info.constant) : Value(),
          true};
}

// Whether the input is a tensor of the type and rank that it had in the plan before, and its contents do not matter.
bool PlanBuilder::MayDifferInSizeOnly(std::size_t input) const {
  const InputFact& given = inputs_[input];
  const Fact& fact = facts_[outline_.inputs()[input]];
  return has_facts_before_ && given.ref.present() && !given.known.has_value() && !fact.known.has_value() &&
         fact.is_static && fact.type.dtype == given.ref.dtype && fact.type.dims.size() == given.ref.shape.size() &&
         std::find(learned_.inputs.begin(), learned_.inputs.end(), static_cast<int>(input)) == learned_.inputs.end();
}

void PlanBuilder::AddInputs() {
  plan_->input_shapes.reserve(outline_.inputs().size());
  for (std::size_t i = 0; i < outline_.inputs().size(); ++i) {
    const int slot = outline_.inputs()[i];
    if (MayDifferInSizeOnly(i)) {
      plan_->input_shapes.emplace_back(Shape(inputs_[i].ref.shape));
      SetChanged(slot, TakeSizes(inputs_[i].ref.shape, facts_[slot].type));
      continue;
    }
    Fact fact = FactOfInput(i);
    if (has_facts_before_) SetChanged(slot, !(fact == facts_[slot]));
    facts_[slot] = std::move(fact);
  }
}

// Adds to the key what the plan rests on.
PlanBuilder::Fact PlanBuilder::FactOfInput(std::size_t input) {
  const InputFact& given = inputs_[input];
  Fact fact;
  if (given.ref.present()) {
    fact = {Type::TensorOf(given.ref.dtype, given.ref.shape), Value(), true};
    plan_->input_shapes.emplace_back(Shape(given.ref.shape));
  } else {
    fact = InitialFact(outline_.inputs()[input]);
    if (!given.type.is_none()) fact.type = WithoutSymbols(given.type);
    fact.is_static = IsStatic(fact.type);
    plan_->input_shapes.emplace_back(std::nullopt);
    if (fact.is_static) plan_->input_shapes.back() = fact.type.StaticShape();
  }
  fact.known = given.known;
  const ops::TensorRef& ref = given.ref;
  const bool in_key =
      std::find(learned_.inputs.begin(), learned_.inputs.end(), static_cast<int>(input)) != learned_.inputs.end();
  if (!in_key || !ref.present() || ref.data == nullptr || ref.dtype == DType::kString) return fact;
  Tensor copy = Tensor(ref.dtype, Shape(ref.shape), Buffer::ReadOnly(ref.data, ref.byte_size(), nullptr)).Clone();
  plan_->contents.emplace_back(static_cast<int>(input),
                               std::string(static_cast<const char*>(copy.raw()), copy.byte_size()));
  fact.known = std::move(copy);
  return fact;
}

bool PlanBuilder::Foldable(const Step& step) const {
  if (!step.on_cpu || (step.op->traits & (ops::kRandom | ops::kNoFold)) != 0 || !step.bodies.empty()) return false;
  for (const int slot : step.inputs)
    if (slot != kNoSlot && !facts_[slot].known.has_value()) return false;
  for (const int slot : step.outputs) {
    if (slot == kNoSlot) continue;
    const Fact& fact = facts_[slot];
    if (!fact.is_static || ElementCount(fact.type.StaticShape()) > kMaxKnownElements) return false;
  }
  return true;
}

bool PlanBuilder::FoldStep(const Step& step) {
  if (!Foldable(step)) return false;
  std::vector<Value> inputs;
  for (const int slot : step.inputs) inputs.push_back(slot == kNoSlot ? Value() : facts_[slot].known);
  std::vector<Value> outputs =
      ops::EvaluateNode(outline_.graph(), outline_.graph().node(step.node), outline_.registry(), inputs);
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] == kNoSlot) continue;
    Fact& fact = facts_[step.outputs[i]];
    fact.known = std::move(outputs[i]);
    if (fact.known.is_tensor()) fact.type = Type::TensorOf(fact.known.tensor().dtype(), fact.known.tensor().shape());
  }
  return true;
}

// A body's own run plans its shapes; a fused group has no run but its kernel's.
std::vector<Type> PlanBuilder::BodyTypes(const Step& step, std::string_view attribute,
                                         std::span<const Type> inputs) const {
  const auto* box = std::get_if<GraphBox>(outline_.graph().node(step.node).FindAttribute(attribute));
  if (step.op == &FusedGroup()) return InferGroup(**box, outline_.registry(), inputs);
  std::vector<Type> types;
  for (const ValueId output : (*box)->outputs) types.push_back(WithoutSymbols((*box)->value(output).type));
  return types;
}

// Inference is given the types of the inputs themselves, not copies, which would be allocated. Until TakeTypesBack
// nothing else may look at them; where inference fails, so does the plan.
void PlanBuilder::LendTypes(const Step& step) {
  given_.assign(step.inputs.size(), {});
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] == kNoSlot) continue;
    Fact& fact = facts_[step.inputs[i]];
    given_[i] = {{}, fact.known.is_tensor() ? &fact.known.tensor() : nullptr, nullptr, true};
    const auto first =
        std::find(step.inputs.begin(), step.inputs.begin() + static_cast<std::ptrdiff_t>(i), step.inputs[i]) -
        step.inputs.begin();
    given_[i].type =
        static_cast<std::size_t>(first) < i ? given_[static_cast<std::size_t>(first)].type : std::move(fact.type);
  }
}

void PlanBuilder::TakeTypesBack(const Step& step) {
  for (std::size_t i = step.inputs.size(); i-- > 0;)
    if (step.inputs[i] != kNoSlot) facts_[step.inputs[i]].type = std::move(given_[i].type);
}

void PlanBuilder::InferStep(const Step& step) {
  LendTypes(step);
  inferred_outputs_.assign(step.outputs.size(), {});
  std::vector<ops::InferContext::Output>& outputs = inferred_outputs_;
  const Node& node = outline_.graph().node(step.node);
  const ops::InferContext::SubgraphFn bodies = [&](std::string_view attribute, std::span<const Type> types) {
    return BodyTypes(step, attribute, types);
  };
  ops::InferNode(outline_.graph(), node, *step.op, given_, outputs, &bodies);
  TakeTypesBack(step);
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] == kNoSlot) continue;
    Fact& fact = facts_[step.outputs[i]];
    if (!outputs[i].type.is_none()) fact.type = WithoutSymbols(std::move(outputs[i].type));
    if ((step.op->traits & ops::kCustom) != 0) fact.type = WithoutShape(fact.type);
    fact.is_static = IsStatic(fact.type) && fact.type.dtype != DType::kString;
    if (fact.is_static) ByteSize(fact.type.dtype, ElementCount(fact.type.StaticShape()));  // fails where it is no size
    // Contents that follow from shapes alone need no kernel.
    const auto& data = outputs[i].shape_data;
    if (!fact.is_static || !data || !OnHost(step.outputs[i]) || fact.type.dtype != DType::kInt64 ||
        fact.type.rank() > 1)
      continue;
    if (static_cast<std::int64_t>(data->size()) != ElementCount(fact.type.StaticShape())) continue;
    if (!std::all_of(data->begin(), data->end(), [](const Dim& d) { return d.known(); })) continue;
    Tensor tensor(DType::kInt64, fact.type.StaticShape());
    for (std::size_t k = 0; k < data->size(); ++k) tensor.data<std::int64_t>()[k] = (*data)[k].number();
    fact.known = std::move(tensor);
  }
}

bool PlanBuilder::HasLateInput(const Step& step) const {
  return std::any_of(step.inputs.begin(), step.inputs.end(), [&](int slot) {
    if (slot == kNoSlot || facts_[slot].known.has_value()) return false;
    const Type& type = facts_[slot].type;
    return !type.is_tensor() || !type.HasStaticShape();
  });
}

// The plan before says all about a step whose inputs are as they were then. Who reads a changed value is found from the
// value: few values change, and looking at the inputs of all steps takes longer than planning those few.
void PlanBuilder::SetChanged(int slot, bool changed) {
  changed_[slot] = changed;
  if (!changed) return;
  for (const int reader : outline_.slots()[slot].readers) unsettled_[reader] = true;
}

void PlanBuilder::FindUnsettled() {
  unsettled_.assign(outcomes_.size(), !has_facts_before_);
  for (int step = 0; step < static_cast<int>(outcomes_.size()); ++step)
    if (outcomes_[step] == Outcome::kOpen || IsSurprising(step)) unsettled_[step] = true;
}

void PlanBuilder::ResetOutputs(const Step& step) {
  outputs_before_.clear();
  if (!has_facts_before_) return;
  for (const int slot : step.outputs)
    outputs_before_.push_back(slot == kNoSlot ? Fact() : std::exchange(facts_[slot], InitialFact(slot)));
}

void PlanBuilder::NoteOutcome(int index, std::size_t steps_before) {
  const Step& step = outline_.steps()[index];
  for (std::size_t i = 0; i < outputs_before_.size(); ++i)
    if (step.outputs[i] != kNoSlot) SetChanged(step.outputs[i], !(outputs_before_[i] == facts_[step.outputs[i]]));
  // Bodies see more than the inputs; functions of others may say something else each time.
  if (!step.bodies.empty() || !step.on_cpu || (step.op->traits & ops::kCustom) != 0) return;
  outcomes_[index] = Outcome::kNothing;
  if (plan_->steps.size() > steps_before) outcomes_[index] = plan_->steps.back().late ? Outcome::kOpen : Outcome::kRuns;
}

void PlanBuilder::PlanStep(int index) {
  if (!unsettled_[index]) {
    if (outcomes_[index] == Outcome::kRuns) plan_->steps.push_back({index, false, -1, nullptr});
    return;
  }
  if (PlanLikeTwin(index)) return;
  const Step& step = outline_.steps()[index];
  const std::size_t steps_before = plan_->steps.size();
  ResetOutputs(step);
  const Outcome before = outcomes_[index];
  ++inferred_;
  try {
    WalkStep(index);
  } catch (...) {
    throw outline_.AtStep(step, CurrentError());
  }
  NoteOutcome(index, steps_before);
  same_outcomes_ = same_outcomes_ && before != Outcome::kOpen && before == outcomes_[index];
  walked_.push_back(index);
  const bool runs = outcomes_[index] == Outcome::kRuns && !IsSurprising(index);
  if (!runs || step.kind < 0) return;
  previous_[index] = latest_[step.kind];
  latest_[step.kind] = index;
}

void PlanBuilder::WalkStep(int index) {
  const Step& step = outline_.steps()[index];
  PlannedStep planned{index, false, -1, nullptr};
  if (step.is_if) {
    PlanIf(index, planned);
  } else {
    InferStep(step);
    if (IsSurprising(index)) ForgetOutputs(step);
    const bool all_known = std::all_of(step.outputs.begin(), step.outputs.end(),
                                       [&](int slot) { return slot == kNoSlot || facts_[slot].known.has_value(); });
    if (all_known && !step.outputs.empty()) return;
    if (FoldStep(step)) return;
  }
  const bool all_static = std::all_of(step.outputs.begin(), step.outputs.end(),
                                      [&](int slot) { return slot == kNoSlot || facts_[slot].is_static; });
  // Whether an input of unknown shape goes with the others, nobody can say before the run.
  planned.late = !all_static || (!step.is_if && HasLateInput(step));
  if (!all_static) {
    late_steps_.push_back(index);
    AskForContents(index);
  }
  plan_->steps.push_back(std::move(planned));
}

std::vector<InputFact> PlanBuilder::BodyFacts(const Step& step, std::size_t body) const {
  std::vector<InputFact> facts;
  for (const int slot : step.captures[body]) facts.push_back({{}, facts_[slot].type, facts_[slot].known});
  return facts;
}

void PlanBuilder::PlanIf(int index, PlannedStep& planned) {
  const Step& step = outline_.steps()[index];
  const Value& condition = facts_[step.inputs[0]].known;
  if (!condition.is_tensor()) return InferStep(step);
  // Attributes are in the author's order; which body is which was settled when the outline was made.
  const Node& node = outline_.graph().node(step.node);
  const std::string_view wanted_branch =
      ops::ConditionOf(ops::RefOf(condition.tensor())) ? "then_branch" : "else_branch";
  int branch = 0;
  for (const Attribute& attribute : node.attributes) {
    if (attribute.name == wanted_branch) break;
    if (std::holds_alternative<GraphBox>(attribute.value)) ++branch;
  }
  planned.branch = branch;
  const Outline& body = *step.bodies[branch];
  // A plan for the branch rests on the shapes of what it captures; where they come with the run, the branch plans
  // itself then.
  const bool ready = std::all_of(step.captures[branch].begin(), step.captures[branch].end(), [&](int slot) {
    const Fact& fact = facts_[slot];
    return fact.is_static || fact.known.has_value() || !(fact.type.is_tensor() || fact.type.is_none());
  });
  if (!ready) return ForgetOutputs(step);
  if (IsSurprising(index)) return ForgetOutputs(step);
  const std::vector<InputFact> inner_facts = BodyFacts(step, branch);
  const KeyContents none{{}, std::vector<bool>(body.steps().size(), false), {}};
  PlanBuilder builder(body, inner_facts, threads_, none);
  planned.body = builder.Build();
  std::set<int> wanted;  // inputs of the body whose contents would make more shapes known
  for (const auto& entry : builder.wanted()) wanted.insert(entry.second.begin(), entry.second.end());
  if (!learned_.futile[index]) {
    std::set<int> inputs;
    bool reachable = true;
    for (const int capture : wanted) reachable = reachable && CollectInputs(step.captures[branch][capture], &inputs, 0);
    if (reachable && !inputs.empty()) wanted_.emplace_back(index, std::move(inputs));
  }
  AdoptBranch(step, body, planned);
}

void PlanBuilder::ForgetOutputs(const Step& step) {
  for (const int slot : step.outputs) {
    if (slot == kNoSlot) continue;
    facts_[slot] = {WithoutShape(*outline_.slots()[slot].type), Value(), false};
  }
}

// The outputs of the If have the shapes that the branch's plan gives its outputs.
void PlanBuilder::AdoptBranch(const Step& step, const Outline& body, const PlannedStep& planned) {
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] == kNoSlot) continue;
    Fact& fact = facts_[step.outputs[i]];
    const PlannedSlot& inner = planned.body->slots[body.outputs()[i]];
    if (inner.place == PlannedSlot::Place::kLate || inner.place == PlannedSlot::Place::kNone) {
      fact.type = WithoutSymbols(*body.slots()[body.outputs()[i]].type);
      fact.is_static = false;
    } else {
      fact.type = Type::TensorOf(inner.dtype, inner.shape);
      fact.is_static = inner.dtype != DType::kString;
      if (inner.known.defined()) fact.known = inner.known;
    }
  }
}

// A late step may be late only because the contents of small inputs are not part of the key yet.
void PlanBuilder::AskForContents(int index) {
  const Step& step = outline_.steps()[index];
  if (learned_.futile[index] || (!step.bodies.empty() && !step.is_if)) return;
  // Inputs whose values differ in every run would make a plan for every run.
  if (step.op != nullptr && (step.op->traits & ops::kSizedByElements) != 0) return;
  std::set<int> inputs;
  for (const int slot : step.inputs) {
    if (slot == kNoSlot || facts_[slot].known.has_value()) continue;
    const Fact& fact = facts_[slot];
    if (!fact.is_static || ElementCount(fact.type.StaticShape()) > kMaxKeyElements) continue;
    std::set<int> found;
    if (CollectInputs(slot, &found, 0)) inputs.insert(found.begin(), found.end());
  }
  if (!inputs.empty()) wanted_.emplace_back(index, std::move(inputs));
}

bool PlanBuilder::CollectInputs(int slot, std::set<int>* inputs, int depth) const {
  const Fact& fact = facts_[slot];
  if (fact.known.has_value()) return true;
  if (!OnHost(slot)) return false;  // a body may be given what lies on a device
  if (depth > kMaxDepth || !fact.is_static || ElementCount(fact.type.StaticShape()) > kMaxKnownElements) return false;
  if (input_of_[slot] >= 0) {
    if (ElementCount(fact.type.StaticShape()) > kMaxKeyElements) return false;
    inputs->insert(input_of_[slot]);
    return true;
  }
  const int producer = outline_.slots()[slot].producer;
  if (producer < 0) return false;
  const Step& step = outline_.steps()[producer];
  if (!step.on_cpu || (step.op->traits & ops::kRandom) != 0 || !step.bodies.empty()) return false;
  return std::all_of(step.inputs.begin(), step.inputs.end(),
                     [&](int input) { return input == kNoSlot || CollectInputs(input, inputs, depth + 1); });
}

}  // namespace sardonyx::planner
