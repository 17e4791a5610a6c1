// runtime/run_state.cpp - one run: bind the plan, run its steps, deliver the outputs.
#include "runtime/run_state.h"

#include <algorithm>
#include <cstring>

#include "base/limits.h"
#include "ops/infer.h"
#include "runtime/foreign_steps.h"
#include "runtime/trace.h"

namespace sardonyx::runtime {

using Place = PlannedSlot::Place;
using ops::Slot;
using ops::TensorRef;

TensorRef RefOf(const Tensor& tensor) {
  return {tensor.dtype(), const_cast<void*>(tensor.raw()), tensor.shape(), tensor.count()};
}

static void ShowTensor(Slot& slot) {
  slot.ref = {};
  if (!slot.value.is_tensor()) return;
  const Tensor& t = slot.value.tensor();
  slot.shape = t.shape();
  slot.ref = {t.dtype(), const_cast<void*>(t.raw()), slot.shape, t.count()};
}

// The memory a slot keeps from run to run serves again while nobody else holds it.
void AllocateDynamic(Slot& slot, DType dtype, Dims shape, const std::shared_ptr<Allocator>& allocator) {
  slot.value = Value();
  const std::int64_t count = ElementCount(shape);
  if (IsString(dtype)) {
    slot.value = Tensor(dtype, Shape(shape));
    return ShowTensor(slot);
  }
  const std::size_t bytes = ByteSize(dtype, count);
  if (!slot.retained || slot.retained.use_count() != 1 || slot.retained->size() < bytes)
    slot.retained = Buffer::Allocate(std::max<std::size_t>(bytes, 1), allocator);
  slot.value = Tensor(dtype, Shape(shape), slot.retained);
  ShowTensor(slot);
}

static void CopyTensor(const TensorRef& from, void* to) {
  if (from.count == 0) return;
  if (IsString(from.dtype)) {
    std::copy_n(from.As<std::string>(), from.count, static_cast<std::string*>(to));
  } else {
    std::memcpy(to, from.data, from.byte_size());
  }
}

// What a kernel asks its executor for.
struct RunStateHost {
  static RunState& Self(ops::KernelContext& c) { return *static_cast<RunState*>(c.executor()); }

  static const TensorRef& AllocateOutput(ops::KernelContext& c, std::size_t i, DType dtype, Dims shape) {
    Slot& slot = *c.outputs()[i];
    RunState& self = Self(c);
    if (dtype == DType::kUndefined) {
      const Step& step = self.program_.steps()[c.step()];
      dtype = slot.ref.present() ? slot.ref.dtype : self.program_.slots()[step.outputs[i]].type.dtype;
    }
    if (slot.ref.present() && slot.ref.dtype == dtype && Shape::Equal(slot.ref.shape, shape)) return slot.ref;
    AllocateDynamic(slot, dtype, shape, self.AllocatorOf(self.program_.steps()[c.step()].outputs[i]));
    return slot.ref;
  }
  static void SetOutput(ops::KernelContext& c, std::size_t i, Value value) {
    Slot& slot = *c.outputs()[i];
    RunState& self = Self(c);
    const Place place = self.plan_->slots[self.program_.steps()[c.step()].outputs[i]].place;
    if (place == Place::kLate) {
      slot.value = std::move(value);
      return ShowTensor(slot);
    }
    // Planned memory has readers that know its address: the contents move in.
    if (!value.is_tensor() || value.tensor().dtype() != slot.ref.dtype ||
        !Shape::Equal(value.tensor().shape(), slot.ref.shape)) {
      Fail(Code::kFail, "output ", i, ": planned as ", Name(slot.ref.dtype), ToText(slot.ref.shape), ", computed as ",
           value.KindName());
    }
    CopyTensor(RefOf(value.tensor()), slot.ref.data);
  }
  static void RunSubgraph(ops::KernelContext& c, std::size_t body, std::span<const Value> inputs,
                          std::span<Value> outputs) {
    std::vector<OutputTarget> targets(outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) targets[k].value = &outputs[k];
    Self(c).RunBody(c.step(), body, inputs, targets, nullptr);
  }
  static void* Scratch(ops::KernelContext& c, std::size_t bytes) {
    RunState& self = Self(c);
    std::shared_ptr<Buffer>& scratch = self.scratch_[self.lanes_[c.step()]];
    std::size_t most = self.window_scratch_.load(std::memory_order_relaxed);
    while (most < bytes && !self.window_scratch_.compare_exchange_weak(most, bytes, std::memory_order_relaxed)) {
    }
    if (!scratch || scratch->size() < bytes) {
      scratch.reset();
      scratch = Buffer::Allocate(std::max<std::size_t>(bytes, 64));
    }
    return scratch->data();
  }
  static void CheckCancelled(ops::KernelContext& c) { Self(c).CheckTerminated(); }
};

static constexpr ops::KernelHost kHost = {RunStateHost::AllocateOutput, RunStateHost::SetOutput,
                                          RunStateHost::RunSubgraph, RunStateHost::Scratch,
                                          RunStateHost::CheckCancelled};

RunState::RunState(Program& program) : program_(program) {
  slots_.resize(program.slots().size());
  facts_.resize(program.inputs().size());
  input_values_.resize(program.inputs().size());
  spare_outputs_.resize(program.outputs().size());
  copy_spare_.resize(program.outputs().size());
  children_.resize(program.steps().size());
  body_targets_.resize(program.steps().size());
  late_shapes_.resize(program.steps().size());
  std::size_t total = 0;
  for (const Step& step : program.steps()) total += step.inputs.size() + step.outputs.size();
  pointers_.reserve(total);  // contexts keep spans of it
  contexts_.reserve(program.steps().size());
  const auto add = [&](const std::vector<int>& slots) {
    const std::size_t begin = pointers_.size();
    for (const int slot : slots) pointers_.push_back(slot == kNoSlot ? nullptr : &slots_[slot]);
    return std::span<Slot* const>(pointers_.data() + begin, slots.size());
  };
  for (std::size_t i = 0; i < program.steps().size(); ++i) {
    const Step& step = program.steps()[i];
    const auto inputs = add(step.inputs);
    const auto outputs = add(step.outputs);
    contexts_.emplace_back(kHost, this, inputs, outputs, step.prepared.state.get()).set_step(i);
  }
}

// A kernel is made for the element types known when the model was loaded; another one would be read as what it is not.
static void CheckElementType(const Type& expected, const TensorRef& found, std::size_t input) {
  if (!expected.is_tensor() || expected.dtype == DType::kUndefined || expected.dtype == found.dtype) return;
  Fail(Code::kInvalidArgument, "input ", input, ": expected elements of type ", Name(expected.dtype), ", found ",
       Name(found.dtype));
}

void RunState::SetInput(std::size_t i, const TensorRef& tensor) {
  CheckElementType(program_.slots()[program_.inputs()[i]].type, tensor, i);
  facts_[i].ref = tensor;
  input_values_[i] = Value();
}

void RunState::SetInput(std::size_t i, const Value& value) {
  if (value.is_tensor()) return SetInput(i, RefOf(value.tensor()));
  facts_[i].ref = {};
  input_values_[i] = value;
}

void RunState::SetInput(std::size_t i, const Slot& slot) {
  if (slot.ref.present()) return SetInput(i, slot.ref);
  facts_[i].ref = {};
  input_values_[i] = slot.value;
}

void RunState::Bind(std::shared_ptr<const Plan> plan) {
  plan_ = std::move(plan);
  SetLanes();
  late_slots_.clear();
  arenas_.resize(program_.memories().size());
  for (std::size_t memory = 0; memory < arenas_.size(); ++memory) {
    const std::size_t bytes = plan_->arena_bytes[memory];
    std::shared_ptr<Buffer>& arena = arenas_[memory];
    if (bytes == 0 || (arena && arena->size() >= bytes)) continue;
    arena.reset();
    arena = Buffer::Allocate(bytes, program_.memories()[memory]);
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const PlannedSlot& planned = plan_->slots[i];
    Slot& slot = slots_[i];
    slot.value = Value();
    slot.ref = {planned.dtype, nullptr, planned.shape, planned.count};
    switch (planned.place) {
      case Place::kConstant: {
        const int source = planned.source >= 0 ? planned.source : static_cast<int>(i);
        const Tensor& tensor =
            plan_->slots[source].known.defined() ? plan_->slots[source].known : *program_.slots()[source].constant;
        slot.ref.data = const_cast<void*>(tensor.raw());
        break;
      }
      case Place::kArena:
        if (const auto& arena = arenas_[planned.memory])
          slot.ref.data = static_cast<std::byte*>(arena->data()) + planned.offset;
        break;
      case Place::kLate:
      case Place::kNone:
        slot.ref = {};
        late_slots_.push_back(static_cast<int>(i));
        break;
      case Place::kInput:
      case Place::kOutput:
        break;  // each run
    }
  }
}

std::size_t RunState::HeldBytes() const {
  std::size_t held = 0;
  const auto add = [&](const std::shared_ptr<Buffer>& buffer) { held += buffer ? buffer->size() : 0; };
  for (const auto& arena : arenas_) add(arena);
  for (const auto& scratch : scratch_) add(scratch);
  for (const auto& output : spare_outputs_) add(output);
  for (const Slot& slot : slots_) add(slot.retained);
  for (const auto& bodies : children_)
    for (const auto& body : bodies) held += body ? body->HeldBytes() : 0;
  return held;
}

void RunState::SetParallel(Parallel* parallel) {
  if (parallel == parallel_) return;
  parallel_ = parallel;
  for (ops::KernelContext& context : contexts_) context.set_parallel(parallel);
}

void RunState::Execute(Parallel* parallel, const RunOptions* options, StepObserver* observer,
                       std::span<const OutputTarget> targets, const std::shared_ptr<const Plan>& plan) {
  SetParallel(parallel);
  options_ = options;
  observer_ = observer;
  if (plan) {
    if (plan_ != plan) Bind(plan);
  } else if (!plan_ || !plan_->Matches(facts_)) {
    Bind(program_.FindPlan(facts_));
  }
  struct Cleaner {
    RunState* state;
    ~Cleaner() { state->Clean(); }
  } cleaner{this};
  PlaceInputs();
  PlaceOutputs(targets);
  RunSteps();
  Deliver(targets);
  CountUse();
}

void RunState::PlaceInputs() {
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    if (facts_[i].ref.present()) {
      for (const int slot : plan_->input_slots[i]) slots_[slot].ref.data = facts_[i].ref.data;
    } else {
      slots_[program_.inputs()[i]].value = input_values_[i];
      slots_[program_.inputs()[i]].ref = {};
    }
  }
}

bool RunState::OverlapsInput(const void* data, std::size_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(data);
  return std::any_of(facts_.begin(), facts_.end(), [&](const Program::InputFact& fact) {
    const auto* other = static_cast<const std::byte*>(fact.ref.data);
    return fact.ref.present() && other != nullptr && begin < other + fact.ref.byte_size() && other < begin + bytes;
  });
}

static void CheckTarget(const std::string& name, const OutputTarget& target, DType dtype, Dims shape) {
  if (target.dtype == dtype && Shape::Equal(target.shape, shape)) return;
  Fail(Code::kInvalidArgument, "output '", name, "': the tensor given for it is ", Name(target.dtype),
       ToText(target.shape), ", and the model computes ", Name(dtype), ToText(shape));
}

// Memory for a result of this type in the target; null if it has none of its own.
static void* TargetMemory(const OutputTarget& target, DType dtype, Dims shape) {
  if (target.data != nullptr) return target.data;
  if (target.slot != nullptr) {
    AllocateDynamic(*target.slot, dtype, shape);
    return target.slot->ref.data;
  }
  if (target.value == nullptr) return nullptr;
  const std::size_t bytes = ByteSize(dtype, ElementCount(shape));
  if (!IsString(dtype) && target.value->is_tensor()) {
    const std::shared_ptr<Buffer> buffer = target.value->tensor().buffer();
    if (buffer && buffer.use_count() == 2 && !buffer->read_only() && buffer->size() >= bytes) {  // the Value's and ours
      *target.value = Tensor(dtype, Shape(shape), buffer);
      return target.value->tensor().raw();
    }
  }
  *target.value = Tensor(dtype, Shape(shape));
  return target.value->tensor().raw();
}

void RunState::PlaceOutputs(std::span<const OutputTarget> targets) {
  for (std::size_t k = 0; k < plan_->deliveries.size(); ++k) {
    copy_spare_[k] = false;
    if (plan_->deliveries[k] != Delivery::kDirect) continue;
    const int slot = program_.outputs()[k];
    const PlannedSlot& planned = plan_->slots[slot];
    const OutputTarget& target = targets[k];
    if (target.data != nullptr)
      CheckTarget(program_.graph().value(program_.graph().outputs[k]).name, target, planned.dtype, planned.shape);
    const std::size_t bytes = ByteSize(planned.dtype, planned.count);
    const bool spare = target.data != nullptr && OverlapsInput(target.data, bytes);
    void* data = spare ? nullptr : TargetMemory(target, planned.dtype, planned.shape);
    if (data == nullptr) {
      std::shared_ptr<Buffer>& buffer = spare_outputs_[k];
      if (!buffer || buffer->size() < bytes) buffer = Buffer::Allocate(std::max<std::size_t>(bytes, 1));
      data = buffer->data();
      copy_spare_[k] = spare;
    }
    for (const int output_slot : plan_->output_slots[k]) slots_[output_slot].ref.data = data;
  }
}

void RunState::CheckTerminated() const {
  if (options_ != nullptr && options_->terminate.load(std::memory_order_relaxed))
    Fail(Code::kFail, "the run was terminated: RunOptions' terminate flag is set");
  CheckTime();
}

void RunState::RunSteps() {
  if (observer_ != nullptr) return RunObservedSteps();
  // A limit is that of one thread: the tasks of a stage come one after another.
  if (!plan_->stages.empty() && !IsLimited()) return RunStages();
  for (const PlannedStep& planned : plan_->steps) {
    CheckTerminated();
    RunStep(planned);
  }
}

// Steps that the plan leaves out are told of, too: who looks inside sees every node.
void RunState::RunObservedSteps() {
  const auto tell = [&](int step, bool ran, std::int64_t start) {
    const ops::KernelContext& context = contexts_[step];
    const std::int64_t end = ran ? NowNanoseconds() : start;
    observer_->OnStep({program_, step, plan_, ran, start, end, context.inputs(), context.outputs()});
  };
  std::vector<bool> runs(contexts_.size(), false);
  for (const PlannedStep& planned : plan_->steps) runs[static_cast<std::size_t>(planned.step)] = true;
  int next = 0;
  const auto tell_idle = [&](int end) {
    for (; next < end; ++next)
      if (!runs[static_cast<std::size_t>(next)]) tell(next, false, NowNanoseconds());
  };
  for (const PlannedStep& planned : plan_->steps) {  // in parallel mode not in the program's order
    CheckTerminated();
    tell_idle(planned.step);
    const std::int64_t start = NowNanoseconds();
    RunStep(planned);
    tell(planned.step, true, start);
  }
  tell_idle(static_cast<int>(contexts_.size()));
}

void RunState::RunStep(const PlannedStep& planned) {
  const Step& step = program_.steps()[planned.step];
  try {
    if (step.is_if) {
      RunIf(step, planned);
    } else if (planned.late) {
      RunLate(step, contexts_[planned.step]);
    } else {
      step.prepared.run(contexts_[planned.step]);
    }
  } catch (const Error& error) {
    const std::string text = error.what();
    if (!text.empty() && text[0] == '[') throw;
    throw Error(error.code(), program_.ErrorPrefix(step) + text);
  }
}

bool RunState::RunLateView(const Step& step) {
  if ((step.op->traits & ops::kView) == 0 || step.inputs[0] == kNoSlot || step.outputs[0] == kNoSlot) return false;
  const Slot& in = slots_[step.inputs[0]];
  Slot& out = slots_[step.outputs[0]];
  if (program_.slots()[step.inputs[0]].memory != program_.slots()[step.outputs[0]].memory) return false;
  if (!in.ref.present() || !out.ref.present() || in.ref.count != out.ref.count || in.ref.dtype != out.ref.dtype)
    return false;
  out.ref.data = in.ref.data;
  if (in.value.is_tensor()) out.value = in.value;  // keeps the bytes alive
  return true;
}

bool RunState::MayReadContents(const Step& step, std::size_t input) const {
  const TensorRef& ref = slots_[step.inputs[input]].ref;
  return program_.slots()[step.inputs[input]].memory == 0 && ref.count <= LateShapes::kMaxContents &&
         ref.data != nullptr && !IsString(ref.dtype);
}

void RunState::InferLate(const Step& step, const ops::KernelContext& context, LateShapes& shapes) const {
  std::vector<ops::InferContext::Known> known(step.inputs.size());
  std::vector<Tensor> contents(step.inputs.size());
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] == kNoSlot) continue;
    const Slot& slot = slots_[step.inputs[i]];
    known[i].present = context.HasInput(i) || !program_.slots()[step.inputs[i]].type.is_tensor();
    if (!slot.ref.present()) {
      known[i].type = program_.slots()[step.inputs[i]].type;
      continue;
    }
    known[i].type = Type::TensorOf(slot.ref.dtype, slot.ref.shape);
    if (MayReadContents(step, i)) {
      contents[i] = Tensor(slot.ref.dtype, Shape(slot.ref.shape), Buffer::View(slot.ref.data, slot.ref.byte_size()));
      known[i].constant = &contents[i];
    }
  }
  std::vector<ops::InferContext::Output> outputs(step.outputs.size());
  const Node& node = program_.graph().node(step.node);
  const ops::InferContext::SubgraphFn bodies = [&](std::string_view attribute, std::span<const Type> types) {
    const Graph& body = **std::get_if<GraphBox>(node.FindAttribute(attribute));
    if (step.op == &FusedGroup()) return InferGroup(body, program_.registry(), types);
    return std::vector<Type>(body.outputs.size());
  };
  ops::InferNode(program_.graph(), node, *step.op, known, outputs, &bodies);
  shapes.Keep(outputs);
}

void RunState::RunLate(const Step& step, ops::KernelContext& context) {
  LateShapes& shapes = late_shapes_[context.step()];
  shapes.Begin();
  for (std::size_t i = 0; i < step.inputs.size(); ++i) {
    if (step.inputs[i] == kNoSlot || !slots_[step.inputs[i]].ref.present()) {
      shapes.AddMissing(context.HasInput(i));
    } else {
      CheckElementType(program_.slots()[step.inputs[i]].type, slots_[step.inputs[i]].ref, i);
      shapes.Add(slots_[step.inputs[i]].ref, MayReadContents(step, i));
    }
  }
  if (!shapes.Same()) InferLate(step, context, shapes);
  const bool view = (step.op->traits & ops::kView) != 0;
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    if (step.outputs[i] == kNoSlot) continue;
    Slot& slot = slots_[step.outputs[i]];
    const LateShapes::Output& inferred = shapes.outputs()[i];
    if (!inferred.known) continue;
    if (view && i == 0) {
      slot.shape = inferred.shape;
      slot.ref = {inferred.dtype, nullptr, slot.shape, ElementCount(slot.shape)};
      if (RunLateView(step)) return;
    }
    AllocateDynamic(slot, inferred.dtype, inferred.shape, AllocatorOf(step.outputs[i]));
  }
  step.prepared.run(context);
}

RunState& RunState::Child(const Step& step, std::size_t step_index, std::size_t body) {
  auto& children = children_[step_index];
  if (children.empty()) children.resize(step.bodies.size());
  if (!children[body]) children[body] = std::make_unique<RunState>(*step.bodies[body]);
  return *children[body];
}

void RunState::RunBody(std::size_t step_index, std::size_t body, std::span<const Value> inputs,
                       std::span<const OutputTarget> targets, const std::shared_ptr<const Plan>& plan) {
  const Step& step = program_.steps()[step_index];
  RunState& child = Child(step, step_index, body);
  const Program& program = *step.bodies[body];
  if (inputs.size() != program.explicit_inputs())
    Fail(Code::kInvalidGraph, "its body takes ", program.explicit_inputs(), " inputs, and ", inputs.size(),
         " are given");
  for (std::size_t i = 0; i < inputs.size(); ++i) child.SetInput(i, inputs[i]);
  for (std::size_t i = 0; i < step.captures[body].size(); ++i)
    child.SetInput(inputs.size() + i, slots_[step.captures[body][i]]);
  child.Execute(parallel_, options_, observer_, targets, plan);
}

void RunState::RunIf(const Step& step, const PlannedStep& planned) {
  int branch = planned.branch;
  if (branch < 0) {
    const TensorRef& condition = slots_[step.inputs[0]].ref;
    if (condition.count != 1)
      Fail(Code::kInvalidArgument, "condition: expected 1 element, found shape ", ToText(condition.shape));
    const std::string_view wanted = *condition.As<bool>() ? "then_branch" : "else_branch";
    branch = 0;
    for (const Attribute& attribute : program_.graph().node(step.node).attributes) {
      if (attribute.name == wanted) break;
      if (std::holds_alternative<GraphBox>(attribute.value)) ++branch;
    }
  }
  std::vector<OutputTarget>& targets = body_targets_[planned.step];
  targets.resize(step.outputs.size());
  for (std::size_t i = 0; i < step.outputs.size(); ++i) {
    targets[i] = {};
    if (step.outputs[i] == kNoSlot) continue;
    Slot& slot = slots_[step.outputs[i]];
    if (plan_->slots[step.outputs[i]].place == Place::kLate) {
      targets[i].slot = &slot;
    } else {
      targets[i].data = slot.ref.data != nullptr ? slot.ref.data : &slot;  // empty tensors have no bytes
      targets[i].dtype = slot.ref.dtype;
      targets[i].shape = slot.ref.shape;
    }
  }
  RunBody(static_cast<std::size_t>(planned.step), static_cast<std::size_t>(branch), {}, targets, planned.body);
}

void RunState::Deliver(std::span<const OutputTarget> targets) {
  for (std::size_t k = 0; k < targets.size(); ++k) DeliverOne(k, targets[k]);
}

void RunState::DeliverOne(std::size_t k, const OutputTarget& target) {
  if (target.data == nullptr && target.slot == nullptr && target.value == nullptr) return;
  Slot& slot = slots_[program_.outputs()[k]];
  if (plan_->deliveries[k] == Delivery::kDirect) {
    if (copy_spare_[k]) CopyTensor(slot.ref, target.data);
    return;
  }
  const std::string& name = program_.graph().value(program_.graph().outputs[k]).name;
  if (!slot.ref.present()) {  // a sequence, a map, or an optional without a value
    if (target.data != nullptr)
      Fail(Code::kInvalidArgument, "output '", name, "': a tensor is given for it, and the model computes a ",
           slot.value.KindName());
    if (target.value != nullptr) *target.value = slot.value;
    if (target.slot != nullptr) {
      target.slot->value = slot.value;
      target.slot->ref = {};
    }
    return;
  }
  if (target.data != nullptr) CheckTarget(name, target, slot.ref.dtype, slot.ref.shape);
  // What a late step made is the run's own: it is handed over. Its memory is replaced in the next run.
  const bool own = plan_->deliveries[k] == Delivery::kLate && slot.value.is_tensor() &&
                   slot.value.tensor().raw() == slot.ref.data && slot.value.tensor().shape() == Shape(slot.ref.shape) &&
                   slot.value.tensor().buffer().use_count() <= 2;
  if (own && target.data == nullptr && target.value != nullptr) {
    *target.value = slot.value;
    slot.retained.reset();
    return;
  }
  CopyTensor(slot.ref, TargetMemory(target, slot.ref.dtype, slot.ref.shape));
}

void RunState::Clean() {
  for (const int i : late_slots_) {
    slots_[i].value = Value();
    slots_[i].ref = {};
  }
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    facts_[i].ref = {};
    if (input_values_[i].has_value()) input_values_[i] = Value();
  }
  for (const int i : program_.inputs())
    if (slots_[i].value.has_value()) slots_[i].value = Value();
}

}  // namespace sardonyx::runtime
