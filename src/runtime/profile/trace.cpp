// runtime/profile/trace.cpp - records events, shapes, and which threads took part.
#include "runtime/profile/trace.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/process.h"

namespace sardonyx::runtime {

std::int64_t NowNanoseconds() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Passes loops on and notes who worked on them and for how long. Loops within loops run on the worker that is there and
// belong to its piece already.
class TraceRun::CountedParallel final : public Parallel {
 public:
  void Wrap(Parallel* inner) { inner_ = inner; }

  void For(std::int64_t count, std::int64_t grain, Body body) override {
    if (inside) return inner_->For(count, grain, body);
    inner_->For(count, grain, [&](std::int64_t begin, std::int64_t end) {
      const std::int64_t start = NowNanoseconds();
      const Inside mark;
      body(begin, end);
      Note(start, NowNanoseconds());
    });
  }
  int ThreadCount() const override { return inner_->ThreadCount(); }

  // Moves what was noted since the last call to `taken`; the number of threads.
  std::uint32_t Take(std::vector<ThreadShare>& taken) {
    std::uint32_t count = 0;
    for (Entry& entry : entries_) {
      const std::int32_t owner = entry.thread.load(std::memory_order_relaxed);
      if (owner == 0) break;
      if (entry.share.busy_ns == 0) continue;
      entry.share.thread = owner;
      taken.push_back(entry.share);
      entry.share = {};
      ++count;
    }
    return count;
  }

 private:
  struct Entry {
    std::atomic<std::int32_t> thread = 0;
    ThreadShare share;  // written by that thread alone while a loop runs
  };
  struct Inside {
    Inside() { inside = true; }
    ~Inside() { inside = false; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
  };

  void Note(std::int64_t start, std::int64_t end) {
    const std::int32_t me = ThreadNumber();
    for (Entry& entry : entries_) {
      std::int32_t owner = entry.thread.load(std::memory_order_relaxed);
      if (owner == 0 && entry.thread.compare_exchange_strong(owner, me)) owner = me;
      if (owner != me) continue;
      if (entry.share.busy_ns == 0) entry.share.start_ns = start;
      entry.share.end_ns = end;
      entry.share.busy_ns += std::max<std::int64_t>(end - start, 1);
      return;
    }
  }

  static thread_local bool inside;
  Parallel* inner_ = nullptr;
  std::array<Entry, 256> entries_;  // threads beyond these are not noted
};

thread_local bool TraceRun::CountedParallel::inside = false;

TraceRun::TraceRun(std::size_t max_events, std::shared_ptr<TraceListener> listener)
    : max_events_(max_events), listener_(std::move(listener)) {}
TraceRun::~TraceRun() = default;

Parallel* TraceRun::Threads(Parallel* parallel) {
  if (!parallel_) parallel_ = std::make_unique<CountedParallel>();
  parallel_->Wrap(parallel);
  return parallel_.get();
}

void TraceRun::Begin(const Program& program) {
  main = &program;
  thread = ThreadNumber();
  start_ns = NowNanoseconds();
  if (listener_ != nullptr) listener_->Begin(start_ns);
}

void TraceRun::End() {
  end_ns = NowNanoseconds();
  parallel_.reset();
  if (listener_ != nullptr) listener_->EndRun(start_ns, end_ns);
}

void TraceRun::AddShape(const ops::Slot* slot) {
  if (slot == nullptr || !slot->ref.present()) {
    shapes.insert(shapes.end(), {0, 0});
    return;
  }
  shapes.push_back(static_cast<std::int64_t>(slot->ref.dtype));
  shapes.push_back(static_cast<std::int64_t>(slot->ref.shape.size()));
  shapes.insert(shapes.end(), slot->ref.shape.begin(), slot->ref.shape.end());
}

void TraceRun::OnStart(std::int64_t start) {
  if (listener_ != nullptr) listener_->Begin(start);
}

void TraceRun::OnFailure(std::int64_t start) {
  if (listener_ != nullptr) listener_->Abandon(start);
}

void TraceRun::OnStep(const ObservedStep& step) {
  if (listener_ != nullptr && step.ran) listener_->EndStep(step);
  if (events.size() >= max_events_) {
    ++dropped;
    return;
  }
  if (&step.program == main && !plan) plan = step.plan;
  TraceEvent event{&step.program,
                   step.step,
                   step.ran,
                   step.start_ns,
                   step.end_ns,
                   static_cast<std::uint32_t>(shapes.size()),
                   static_cast<std::uint32_t>(shares.size()),
                   0};
  event.share_count = parallel_ && step.ran ? parallel_->Take(shares) : 0;
  for (const ops::Slot* slot : step.inputs) AddShape(slot);
  for (const ops::Slot* slot : step.outputs) AddShape(slot);
  events.push_back(event);
}

Trace::Trace()
    : start_ns(NowNanoseconds()),
      wall_ns(std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count()) {}

std::size_t Trace::Room() const {
  const std::scoped_lock lock(mutex_);
  return kMaxEvents - std::min(events_, kMaxEvents);
}

void Trace::Add(std::unique_ptr<TraceRun> run) {
  const std::scoped_lock lock(mutex_);
  events_ += run->events.size();
  runs_.push_back(std::move(run));
}

std::vector<std::unique_ptr<TraceRun>> Trace::Take() {
  const std::scoped_lock lock(mutex_);
  return std::move(runs_);
}

}  // namespace sardonyx::runtime
