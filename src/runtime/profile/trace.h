// runtime/profile/trace.h - the data of a profile: every step of the runs that were traced, with times, shapes and
// threads.
//
// Each run writes into its own TraceRun: a few words for each step, and no allocations except when its vectors grow. At
// its end the run is added to the Trace, which writers read (capi/profile_events.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/profile/step_observer.h"

namespace sardonyx::runtime {

// Nanoseconds of std::chrono::steady_clock.
std::int64_t NowNanoseconds();

// One thread's share of one step.
struct ThreadShare {
  std::int32_t thread = 0;
  std::int64_t start_ns = 0, end_ns = 0;  // of its first and last piece of work
  std::int64_t busy_ns = 0;
};

struct TraceEvent {
  const Program* program = nullptr;
  int step = 0;
  bool ran = true;
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t first_shape = 0;  // of TraceRun::shapes
  std::uint32_t first_share = 0;  // of TraceRun::shares
  std::uint32_t share_count = 0;  // threads that took part; 0: the run's own thread alone
};

// Is told of what a profile records while it happens, by the thread that it happens on. Runs and the steps in them
// nest.
class TraceListener {
 public:
  virtual ~TraceListener() = default;
  virtual void Begin(std::int64_t start_ns) = 0;  // of a run or a step
  virtual void EndStep(const ObservedStep& step) = 0;
  virtual void EndRun(std::int64_t start_ns, std::int64_t end_ns) = 0;
  virtual void Abandon(std::int64_t start_ns) = 0;  // a step that failed
};

// Tensors in `shapes`: element type, rank, dimensions, one after the other; inputs first. A value that is missing or
// not a tensor has the type kUndefined and rank 0.
class TraceRun final : public StepObserver {
 public:
  // Events beyond `max_events` are counted and dropped. `listener` may be null.
  explicit TraceRun(std::size_t max_events, std::shared_ptr<TraceListener> listener = nullptr);
  ~TraceRun() override;
  TraceRun(const TraceRun&) = delete;
  TraceRun& operator=(const TraceRun&) = delete;

  void OnStep(const ObservedStep& step) override;
  void OnStart(std::int64_t start) override;
  void OnFailure(std::int64_t start) override;
  Parallel* Threads(Parallel* parallel) override;
  void Begin(const Program& program);
  void End();

  std::int32_t thread = 0;  // that called
  std::int64_t start_ns = 0, end_ns = 0;
  std::vector<TraceEvent> events;
  std::vector<std::int64_t> shapes;
  std::vector<ThreadShare> shares;
  const Program* main = nullptr;              // the model's own program
  std::shared_ptr<const planner::Plan> plan;  // of it
  std::size_t dropped = 0;
  std::shared_ptr<const void> keeps;  // the owner of the programs that events point to, if that is not the session

 private:
  class CountedParallel;
  void AddShape(const ops::Slot* slot);

  std::size_t max_events_;
  std::shared_ptr<TraceListener> listener_;  // shared with the trace
  std::unique_ptr<CountedParallel> parallel_;
};

// The runs of a session since it was created. Any thread may add.
class Trace {
 public:
  static constexpr std::size_t kMaxEvents = 1'000'000;  // ONNX Runtime's limit

  Trace();
  std::size_t Room() const;
  void Add(std::unique_ptr<TraceRun> run);
  // Takes all runs added so far.
  std::vector<std::unique_ptr<TraceRun>> Take();

  const std::int64_t start_ns, wall_ns;      // the same moment by steady_clock and since 1970
  std::int64_t loaded_ns = 0, ready_ns = 0;  // when the model was read; when the session was ready
  std::shared_ptr<TraceListener> listener;   // of its runs, which share it; null: nobody listens

 private:
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<TraceRun>> runs_;
  std::size_t events_ = 0;
};

}  // namespace sardonyx::runtime
