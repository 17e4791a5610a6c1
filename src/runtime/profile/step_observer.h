// runtime/profile/step_observer.h - the interface of an observer, which is told of every step of a run: profiles,
// searches for bad values, measurements.
//
// A run without an observer uses a loop of its own, so observation costs nothing when it is off.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "ops/kernel_context.h"

namespace sardonyx::planner {
struct Plan;
}

namespace sardonyx::runtime {

class Program;

// A step that has just ended, or that had nothing to do.
struct ObservedStep {
  const Program& program;  // the model's, or that of a body
  int step;                // of program.steps()
  const std::shared_ptr<const planner::Plan>& plan;
  bool ran;                                    // false: a view of its input, or known when the run was planned
  std::int64_t start_ns, end_ns;               // of std::chrono::steady_clock
  std::span<ops::Slot*const> inputs, outputs;  // as the kernel left them; null if missing
};

// Called by the thread that runs; an observer serves one run at a time.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  // Every step of the program, in its order; those of a body come before the step that holds them.
  virtual void OnStep(const ObservedStep& step) = 0;
  // Before a step runs, with its ObservedStep::start_ns; OnStep follows, or OnFailure.
  virtual void OnStart(std::int64_t /*start_ns*/) {}
  virtual void OnFailure(std::int64_t /*start_ns*/) {}
  // The threads that the run's kernels get instead of `parallel`, which outlives the run.
  virtual Parallel* Threads(Parallel* parallel) { return parallel; }
};

// Tells two observers.
class BothObservers final : public StepObserver {
 public:
  BothObservers(StepObserver& first, StepObserver& second) : first_(first), second_(second) {}
  void OnStep(const ObservedStep& step) override {
    first_.OnStep(step);
    second_.OnStep(step);
  }
  void OnStart(std::int64_t start_ns) override {
    first_.OnStart(start_ns);
    second_.OnStart(start_ns);
  }
  void OnFailure(std::int64_t start_ns) override {
    first_.OnFailure(start_ns);
    second_.OnFailure(start_ns);
  }
  Parallel* Threads(Parallel* parallel) override { return second_.Threads(first_.Threads(parallel)); }

 private:
  StepObserver& first_;
  StepObserver& second_;
};

}  // namespace sardonyx::runtime
