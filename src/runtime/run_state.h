// runtime/run_state.h - the memory of one run: slots, arena, kernel contexts. Leased to one run at a time.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/parallel.h"
#include "ops/kernel_context.h"
#include "planner/plan.h"
#include "runtime/devices/border_copy.h"
#include "runtime/devices/run_streams.h"
#include "runtime/late_shapes.h"
#include "runtime/profile/step_observer.h"
#include "runtime/program.h"
#include "runtime/repeated_runs.h"

namespace sardonyx::runtime {

// Where an output goes: into given memory (`data`), into a slot of the enclosing run (`slot`), or into a Value that is
// filled (a tensor in it gives its memory if nobody else holds it). All null: the output is not wanted.
struct OutputTarget {
  void* data = nullptr;
  DType dtype = DType::kUndefined;  // of `data`
  Dims shape;
  ops::Slot* slot = nullptr;
  Value* value = nullptr;
};

class RunState {
 public:
  explicit RunState(Program& program);
  RunState(const RunState&) = delete;
  RunState& operator=(const RunState&) = delete;

  // Before Execute: every input of the program. The shape's storage and the bytes must outlive the run.
  void SetInput(std::size_t i, const ops::TensorRef& tensor);
  void SetInput(std::size_t i, const Value& value);
  void SetInput(std::size_t i, const ops::Slot& slot);

  // Finds (or is given) the plan, runs its steps, delivers targets[k] for output k. Fails with the kernel's error, its
  // node named, or with kFail when `options->terminate` is set. `observer`, if there is one, is told of every step.
  void Execute(Parallel* parallel, const RunOptions* options, StepObserver* observer,
               std::span<const OutputTarget> targets, const std::shared_ptr<const planner::Plan>& plan = nullptr);
  Program& program() const { return program_; }
  const planner::Plan* plan() const { return plan_.get(); }
  // From now on Execute counts the bytes that it moves between devices, by number of the copy (Program::NumberCopies).
  void BeginCopies(std::size_t count) {
    own_copied_.assign(count, 0);
    copied_ = own_copied_.data();
  }
  const std::vector<std::int64_t>& copied() const { return own_copied_; }
  // Bytes of memory kept from earlier runs, bodies included.
  std::size_t HeldBytes() const;
  // Whether Execute returns only when the work that it has given to streams is done.
  void set_synchronize(bool synchronize) { synchronize_ = synchronize; }
  // Copies of the next run's inputs, by input of the program, and of outputs that it makes on devices.
  void set_borders(std::span<BorderCopy> before, std::span<BorderCopy> after) {
    before_ = before;
    after_ = after;
  }
  // Frees what is kept for the next run. To be called between runs.
  void ReleaseMemory();
  // Room for the caller's arguments, kept so that a repeated run allocates nothing.
  std::vector<OutputTarget>& targets() { return targets_; }
  std::vector<char>& given_inputs() { return given_inputs_; }

 private:
  friend struct RunStateHost;
  // The memory that runs need: the most that one run has in arenas and late slots, and the most scratch memory of one
  // step.
  struct Need {
    std::size_t memory = 0, scratch = 0;
    void Cover(const Need& run);
  };
  void ExecuteOnce(std::span<const OutputTarget> targets, const std::shared_ptr<const planner::Plan>& plan);
  void Bind(std::shared_ptr<const planner::Plan> plan);
  void BindSizes(std::shared_ptr<const planner::Plan> plan);
  void BindSlot(std::size_t slot);
  void BindFound();
  Error AtLargestBuffer(std::size_t memory, const Error& error) const;
  Error AtSlot(int slot, const Error& error) const;
  void SetParallel(Parallel* parallel);
  void PlaceInputs();
  void PlaceOutputs(std::span<const OutputTarget> targets);
  void OfferTarget(std::size_t k, const OutputTarget& target);
  bool OverlapsInput(const void* data, std::size_t bytes, int except = -1) const;
  bool IsUpdate(std::size_t k, const void* data) const;
  void RunSteps();
  void RunObservedSteps();
  void CheckTerminated() const;
  void RunStep(const planner::PlannedStep& planned);
  void RunPlanned(const planner::PlannedStep& planned);
  void RunKernel(ops::KernelContext& context);
  // What control flow passes on on a device (run_bodies.cpp).
  std::vector<ops::Slot*> LendInputs(const ops::KernelContext& context, std::vector<ops::Slot>& lent) const;
  static bool IsBorrowed(const ops::KernelContext& context, const Value& value);
  void CopyLate(int slot, const Tensor& tensor);
  void CopyInto(int slot, const ops::TensorRef& from, void* to);
  void CopyOn(const Device& device, const void* from, void* to, std::size_t bytes) const;
  void PrepareStreams();
  RunStreams::Point PointOf(int slot) const;
  void WaitForInputs(const planner::PlannedStep& planned);
  void MarkOutputs(const planner::Step& step);
  void EndStreams();
  int StreamFor(const BorderCopy& copy) const;
  void CopyInputs();
  void CopyOutputsAway();
  bool WaitsForLastRun() const;
  void WaitForLastRun();
  const std::shared_ptr<Allocator>& AllocatorOf(int slot) const {
    return program_.outline().memories()[program_.slots()[slot].memory];
  }
  const std::shared_ptr<Allocator>& HostMemory() const { return program_.outline().memories()[0]; }
  void RunLate(const planner::Step& step, ops::KernelContext& context);
  void OfferInputs(const planner::Step& step);
  bool RunLateView(const planner::Step& step, const ops::OutputShape& shape);
  bool MayReadContents(const planner::Step& step, std::size_t input) const;
  void InferLate(const planner::Step& step, const ops::KernelContext& context, LateShapes& shapes) const;
  void RunIf(const planner::Step& step, const planner::PlannedStep& planned);
  RunState& Child(std::size_t step, std::size_t body);
  void RunBody(std::size_t step_index, std::size_t body, std::span<const Value> inputs,
               std::span<const OutputTarget> targets, const std::shared_ptr<const planner::Plan>& plan);
  // Shapes that are not the plan's (run_late.cpp).
  static bool MaySurprise(const planner::Step& step);
  bool TakeSurprise(std::size_t step);
  const Shape* Promised(const planner::Step& step, std::size_t index, std::size_t output);
  void MarkStrange(const planner::Step& step);
  bool ReadsStrange(const planner::Step& step) const;
  using TellFn = FunctionRef<void(int step, bool ran, std::int64_t start)>;
  void FinishLate(int after, TellFn tell);
  bool IsStrange(int slot) const { return !strange_.empty() && strange_[static_cast<std::size_t>(slot)]; }
  void RunStages();
  void RunRange(const planner::StepRange& range);
  void SetLanes();
  void CountUse();
  bool HoldsMoreThan(const Need& need) const;
  void Deliver(std::span<const OutputTarget> targets, bool on_host);
  void CopyOutput(std::size_t k, void* to);
  void DeliverOne(std::size_t k, const OutputTarget& target);
  void Clean();

  Program& program_;
  std::shared_ptr<const planner::Plan> plan_;
  std::shared_ptr<const planner::Plan> bound_;  // as a whole: slots may show its shapes
  std::vector<ops::Slot> slots_;
  std::vector<ops::Slot*> pointers_;          // of all contexts' inputs and outputs
  std::vector<ops::KernelContext> contexts_;  // by step
  std::vector<planner::InputFact> facts_;     // by input
  std::vector<Value> input_values_;           // inputs that are not tensors
  std::vector<int> late_slots_;
  std::vector<LateShapes> late_shapes_;                           // by step
  std::vector<std::vector<std::unique_ptr<RunState>>> children_;  // by step, by body
  std::vector<std::vector<OutputTarget>> body_targets_;           // by step
  std::vector<std::shared_ptr<Buffer>> spare_outputs_;            // of outputs not wanted, or bound over an input
  std::vector<bool> copy_spare_;                  // by output: computed in spare_outputs_, to be copied at the end
  std::vector<std::shared_ptr<Buffer>> arenas_;   // by memory
  std::vector<std::shared_ptr<Buffer>> scratch_;  // by lane: steps that may run at once have different ones
  std::vector<std::uint8_t> lanes_;               // by step
  std::atomic<std::size_t> run_scratch_ = 0;      // the most that a step of this run has asked for
  Need window_need_, repeated_need_;              // of the window's runs, and of those since the shapes last changed
  int window_ = 0, window_runs_ = 0;              // runs whose needs are looked at together, whatever their shapes
  RepeatedRuns repeated_runs_;
  std::atomic<bool> surprised_ = false;  // a kernel made a shape that the plan does not have
  std::atomic<bool> again_ = false;      // and its readers cannot be told any more: the run starts again
  bool misfit_ = false;                  // an output of this body does not fit what its If planned for it
  std::vector<bool> strange_;            // by slot, once a kernel did: not what the plan says; empty before
  bool is_body_ = false;                 // of another run state, which looks after the process's free memory
  std::vector<OutputTarget> targets_;
  std::vector<char> given_inputs_;
  Parallel* parallel_ = nullptr;
  const RunOptions* options_ = nullptr;
  StepObserver* observer_ = nullptr;
  std::vector<RunStreams::Point> points_;  // by slot: where the work that makes it ends; empty without streams
  std::vector<char> read_elsewhere_;       // by slot: by more than the stream that makes it
  std::span<BorderCopy> before_, after_;
  bool synchronize_ = true;
  bool waits_for_last_ = false;    // work that the last run left to a stream uses memory that this one changes
  RunStreams* streams_ = nullptr;  // of the run that this is part of; null: no step has one
  std::vector<std::int64_t> own_copied_;
  std::int64_t* copied_ = nullptr;           // of the run that this is part of
  std::unique_ptr<RunStreams> own_streams_;  // goes first: until then there may be work under way in all this memory
};

// Fails unless `found` has the element type expected when the model was loaded: the kernel was made for that type, and
// would misread another.
void CheckElementType(const Type& expected, const ops::TensorRef& found, std::size_t input);
}  // namespace sardonyx::runtime
