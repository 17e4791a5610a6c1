// runtime/run_state.cpp - one run: binds the plan and runs its steps.
//
// Its other parts: late steps (run_late.cpp), outputs (run_outputs.cpp), branches (run_stages.cpp), streams
// (run_on_streams.cpp), the memory of values and between runs (run_memory.cpp).
#include "runtime/run_state.h"

#include <algorithm>

#include "base/current_error.h"
#include "base/limits.h"
#include "ops/integers.h"
#include "ops/single_node.h"
#include "ops/tensor_ref.h"
#include "runtime/profile/trace.h"
#include "tensor/device_copier.h"

namespace sardonyx::runtime {

using ops::Slot;
using ops::TensorRef;
using planner::kNoSlot;
using planner::PlannedBuffer;
using planner::PlannedSlot;
using planner::PlannedStep;
using planner::Step;
using Place = PlannedSlot::Place;

// Memory in the place of some that was too small. Lengths that grew once often grow on: it has room for a few steps, of
// the size that HoldsMoreThan accepts, unless such room is refused.
static std::shared_ptr<Buffer> AllocateGrown(std::size_t bytes, bool grows, const std::shared_ptr<Allocator>& memory) {
  constexpr std::size_t kMostRoom = std::size_t{8} << 20;
  if (grows) {
    try {
      return Buffer::Allocate(bytes + std::min(bytes / 8, kMostRoom), memory);
    } catch (const Error&) {  // the exact size says what is missing
    }
  }
  return Buffer::Allocate(bytes, memory);
}

// What a kernel asks its executor for.
struct RunStateHost {
  static RunState& Self(ops::KernelContext& c) { return *static_cast<RunState*>(c.executor()); }

  static ops::OutputRef AllocateOutput(ops::KernelContext& c, std::size_t i, DType dtype, Dims shape) {
    Slot& slot = *c.outputs()[i];
    RunState& self = Self(c);
    if (dtype == DType::kUndefined) {
      const Step& step = self.program_.steps()[c.step()];
      dtype = slot.ref.present() ? slot.ref.dtype : self.program_.slots()[step.outputs[i]].type->dtype;
    }
    if (slot.ref.present() && slot.ref.dtype == dtype && Shape::Equal(slot.ref.shape, shape)) return slot.output();
    const Step& step = self.program_.steps()[c.step()];
    const PlannedSlot& planned = self.plan_->slots[step.outputs[i]];
    // Memory that has its place has readers that know it and its shape.
    const bool has_place = planned.place == Place::kArena || planned.place == Place::kOutput;
    if (has_place && !self.IsStrange(step.outputs[i]) &&
        (dtype != planned.dtype || !self.MaySurprise(step) || !self.TakeSurprise(c.step()))) {
      Fail(Code::kInvalidArgument, "output ", i, ": expected ", Name(planned.dtype), ToText(planned.shape),
           ", as the types of its inputs imply, found ", Name(dtype), ToText(shape));
    }
    if (IsString(dtype)) ops::CheckTexts(c, *step.op, shape);
    ops::AllocateDynamic(slot, dtype, shape, self.AllocatorOf(step.outputs[i]));
    return slot.output();
  }
  static void SetOutput(ops::KernelContext& c, std::size_t i, Value value) {
    Slot& slot = *c.outputs()[i];
    RunState& self = Self(c);
    const int index = self.program_.steps()[c.step()].outputs[i];
    if (self.plan_->slots[index].place == Place::kLate || self.IsStrange(index)) {
      if (self.IsBorrowed(c, value)) return self.CopyLate(index, value.tensor());
      slot.value = std::move(value);
      return ops::ShowTensor(slot);
    }
    // Planned memory has readers that know its address: the contents move in.
    if (!value.is_tensor() || value.tensor().dtype() != slot.ref.dtype ||
        !Shape::Equal(value.tensor().shape(), slot.ref.shape)) {
      Fail(Code::kFail, "output ", i, ": expected ", Name(slot.ref.dtype), ToText(slot.ref.shape),
           " as planned, found ", value.KindName());
    }
    self.CopyInto(index, ops::RefOf(value.tensor()), slot.bytes);
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
    std::size_t most = self.run_scratch_.load(std::memory_order_relaxed);
    while (most < bytes && !self.run_scratch_.compare_exchange_weak(most, bytes, std::memory_order_relaxed)) {
    }
    if (!scratch || scratch->size() < bytes) {
      const bool grows = scratch != nullptr;
      scratch.reset();
      scratch = AllocateGrown(std::max<std::size_t>(bytes, 64), grows, self.HostMemory());
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
    contexts_.emplace_back(kHost, this, inputs, outputs, program.kernels()[i].prepared.state.get()).set_step(i);
  }
}

void RunState::SetInput(std::size_t i, const TensorRef& tensor) {
  CheckElementType(*program_.slots()[program_.inputs()[i]].type, tensor, i);
  facts_[i].ref = tensor;
  input_values_[i] = Value();
}

void RunState::SetInput(std::size_t i, const Value& value) {
  if (value.is_tensor()) return SetInput(i, ops::RefOf(value.tensor()));
  facts_[i].ref = {};
  input_values_[i] = value;
}

void RunState::SetInput(std::size_t i, const Slot& slot) {
  if (slot.ref.present()) return SetInput(i, slot.ref);
  facts_[i].ref = {};
  input_values_[i] = slot.value;
}

// An arena that was refused, told with the value that needs most of it.
Error RunState::AtLargestBuffer(std::size_t memory, const Error& error) const {
  const PlannedBuffer* largest = nullptr;
  for (const PlannedBuffer& buffer : plan_->buffers)
    if (static_cast<std::size_t>(buffer.memory) == memory && (largest == nullptr || buffer.bytes > largest->bytes))
      largest = &buffer;
  return largest == nullptr ? error : AtSlot(largest->slot, error);
}

Error RunState::AtSlot(int slot, const Error& error) const {
  const int producer = program_.slots()[slot].producer;
  if (producer < 0) return error;
  const PlannedSlot& planned = plan_->slots[slot];
  const Step& step = program_.steps()[producer];
  return program_.outline().AtStep(step, Error(error.code(), "its output " + std::string(Name(planned.dtype)) +
                                                                 ToText(planned.shape) + ": " + error.what()));
}

void RunState::Bind(std::shared_ptr<const planner::Plan> plan) {
  if (plan_ != nullptr && plan->HasPlacesOf(*plan_) && own_streams_ == nullptr) return BindSizes(std::move(plan));
  plan_ = std::move(plan);
  bound_ = plan_;
  SetLanes();
  waits_for_last_ = own_streams_ != nullptr && WaitsForLastRun();
  late_slots_.clear();
  arenas_.resize(program_.outline().memories().size());
  for (std::size_t memory = 0; memory < arenas_.size(); ++memory) {
    const std::size_t bytes = plan_->arena_bytes[memory];
    std::shared_ptr<Buffer>& arena = arenas_[memory];
    if (bytes == 0 || (arena && arena->size() >= bytes)) continue;
    const bool grows = arena != nullptr;
    arena.reset();
    try {
      arena = AllocateGrown(bytes, grows, program_.outline().memories()[memory]);
    } catch (const Error& error) {
      throw AtLargestBuffer(memory, error);
    }
  }
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    BindSlot(i);
    const Place place = plan_->slots[i].place;
    if (place == Place::kLate || place == Place::kNone) late_slots_.push_back(static_cast<int>(i));
  }
}

// Values that grow have room where there is memory for it.
void RunState::BindFound() {
  const std::shared_ptr<const planner::Plan> found = program_.FindPlan(facts_);
  try {
    return Bind(found);
  } catch (const Error&) {
    if (!found->has_room) throw;
  }
  Bind(program_.MakeExactPlan(facts_));
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
                       std::span<const OutputTarget> targets, const std::shared_ptr<const planner::Plan>& plan) {
  SetParallel(parallel);
  options_ = options;
  observer_ = observer;
  if (program_.outline().has_streams() || (!before_.empty() && RunStreams::AreNeeded(*program_.providers()))) {
    PrepareStreams();
  } else if (!is_body_) {
    streams_ = nullptr;
    points_.clear();
  }
  try {
    CopyInputs();
    ExecuteOnce(targets, plan);
    while (again_.exchange(false)) ExecuteOnce(targets, nullptr);
  } catch (...) {
    if (!before_.empty() && streams_ != nullptr) streams_->Flush(false);  // the memory of the copies is about to go
    throw;
  }
}

void RunState::ExecuteOnce(std::span<const OutputTarget> targets, const std::shared_ptr<const planner::Plan>& plan) {
  if (plan ? plan_ != plan : !plan_ || !plan_->Matches(facts_)) {
    WaitForLastRun();
    if (plan_) {  // else its memory was given back
      repeated_runs_.End();
      repeated_need_ = {};
    }
    try {
      plan ? Bind(plan) : BindFound();
    } catch (...) {
      plan_ = nullptr;  // its memory is not all there: the next run binds again
      throw;
    }
  }
  struct Cleaner {
    RunState* state;
    ~Cleaner() {
      if (!state->again_) state->Clean();
    }
  } cleaner{this};
  misfit_ = false;
  try {
    if (waits_for_last_) WaitForLastRun();
    PlaceInputs();
    PlaceOutputs(targets);
    RunSteps();
    Deliver(targets, false);
    CopyOutputsAway();
    if (streams_ != nullptr) EndStreams();
    Deliver(targets, true);
  } catch (...) {
    surprised_ = false;
    if (streams_ != nullptr) streams_->Flush(false);  // the memory of what is under way is about to go
    if (!again_) throw;
    plan_ = nullptr;
    strange_.clear();
    std::fill(points_.begin(), points_.end(), RunStreams::Point());
    return;
  }
  CountUse();
}

void RunState::PlaceInputs() {
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    if (facts_[i].ref.present()) {
      for (const int slot : (*plan_->input_slots)[i]) slots_[slot].ref.data = facts_[i].ref.data;
    } else {
      slots_[program_.inputs()[i]].value = input_values_[i];
      slots_[program_.inputs()[i]].Clear();
    }
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
  // So is a stream.
  if (!plan_->stages.empty() && !IsLimited() && streams_ == nullptr) return RunStages();
  for (const PlannedStep& planned : plan_->steps) {
    CheckTerminated();
    RunStep(planned);
    if (surprised_.load(std::memory_order_relaxed)) return FinishLate(planned.step, [](int, bool, std::int64_t) {});
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
    observer_->OnStart(start);
    try {
      RunStep(planned);
    } catch (...) {
      observer_->OnFailure(start);
      throw;
    }
    tell(planned.step, true, start);
    if (surprised_.load(std::memory_order_relaxed)) return FinishLate(planned.step, tell);
  }
  tell_idle(static_cast<int>(contexts_.size()));
}

void RunState::RunKernel(ops::KernelContext& context) {
  const Kernel& kernel = program_.kernels()[context.step()];
  program_.AnnounceWeights(kernel);
  if (kernel.bodies.empty() || program_.outline().memories().size() == 1) {
    kernel.prepared.run(context);
  } else {
    std::vector<Slot> lent;
    const std::vector<Slot*> inputs = LendInputs(context, lent);
    ops::KernelContext given(kHost, this, inputs, context.outputs(), kernel.prepared.state.get());
    given.set_step(context.step());
    given.set_parallel(parallel_);
    struct Copier final : DeviceCopier {
      explicit Copier(const RunState& its_run) : run(its_run) {}
      void Copy(const Device& device, const void* from, void* to, std::size_t bytes) override {
        run.CopyOn(device, from, to, bytes);
      }
      const RunState& run;
    } copier(*this);
    const DeviceCopierScope scope(&copier);
    kernel.prepared.run(given);
  }
  if (kernel.copy >= 0 && copied_ != nullptr)
    copied_[kernel.copy] += static_cast<std::int64_t>(context.Output(0).byte_size());
}

void RunState::RunStep(const PlannedStep& planned) {
  const Step& step = program_.steps()[planned.step];
  try {
    if (streams_ == nullptr) return RunPlanned(planned);
    WaitForInputs(planned);
    const StreamScope scope(step.stream >= 0 ? &streams_->Give(step.stream) : nullptr);
    RunPlanned(planned);
    MarkOutputs(step);
  } catch (...) {
    throw program_.outline().AtStep(step, CurrentError());
  }
}

void RunState::RunPlanned(const PlannedStep& planned) {
  const Step& step = program_.steps()[planned.step];
  if (step.is_if) {
    RunIf(step, planned);
  } else if (planned.late) {
    RunLate(step, contexts_[planned.step]);
  } else {
    RunKernel(contexts_[planned.step]);
  }
}

RunState& RunState::Child(std::size_t step, std::size_t body) {
  auto& children = children_[step];
  if (children.empty()) children.resize(program_.kernels()[step].bodies.size());
  if (!children[body]) {
    children[body] = std::make_unique<RunState>(*program_.kernels()[step].bodies[body]);
    children[body]->is_body_ = true;
  }
  return *children[body];
}

void RunState::RunBody(std::size_t step_index, std::size_t body, std::span<const Value> inputs,
                       std::span<const OutputTarget> targets, const std::shared_ptr<const planner::Plan>& plan) {
  const Step& step = program_.steps()[step_index];
  RunState& child = Child(step_index, body);
  const std::size_t wanted = step.bodies[body]->explicit_inputs();
  if (inputs.size() != wanted)
    Fail(Code::kInvalidGraph, "expected ", wanted, " inputs for the body, found ", inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) child.SetInput(i, inputs[i]);
  for (std::size_t i = 0; i < step.captures[body].size(); ++i)
    child.SetInput(inputs.size() + i, slots_[step.captures[body][i]]);
  child.copied_ = copied_;
  child.streams_ = streams_;
  child.Execute(parallel_, options_, observer_, targets, plan);
}

void RunState::RunIf(const Step& step, const PlannedStep& planned) {
  int branch = planned.branch;
  if (branch < 0) {
    const bool holds = ops::ConditionOf(slots_[step.inputs[0]].ref);
    const std::string_view wanted = holds ? "then_branch" : "else_branch";
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
    if (plan_->slots[step.outputs[i]].place == Place::kLate || IsStrange(step.outputs[i])) {
      targets[i].slot = &slot;
    } else {
      targets[i].data = slot.bytes != nullptr ? slot.bytes : &slot;  // empty tensors have no bytes
      targets[i].dtype = slot.ref.dtype;
      targets[i].shape = slot.ref.shape;
    }
  }
  const auto at = static_cast<std::size_t>(planned.step);
  try {
    RunBody(at, static_cast<std::size_t>(branch), {}, targets, planned.body);
  } catch (...) {
    if (Child(at, static_cast<std::size_t>(branch)).misfit_) {
      program_.NoteSurprise(at);
      again_ = true;
    }
    throw;
  }
}

void RunState::Clean() {
  if (!strange_.empty()) {  // its memory is not all the plan's: the next run binds again
    strange_.clear();
    plan_ = nullptr;
  }
  for (const int i : late_slots_) {
    slots_[i].value = Value();
    slots_[i].Clear();
  }
  for (std::size_t i = 0; i < facts_.size(); ++i) {
    facts_[i].ref = {};
    if (input_values_[i].has_value()) input_values_[i] = Value();
  }
  for (const int i : program_.inputs())
    if (slots_[i].value.has_value()) slots_[i].value = Value();
}

}  // namespace sardonyx::runtime
