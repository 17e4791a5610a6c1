// runtime/thread_pool.cpp - job slots, and workers that spin briefly and then park.
#include "runtime/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <new>

#include "base/cpu_info.h"
#include "base/float_control.h"
#include "base/fork_count.h"
#include "base/limits.h"
#include "base/process.h"
#include "base/stay_loaded.h"
#include "base/thread_place.h"

namespace sardonyx::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// How long a worker looks for work after a run before it parks.
constexpr auto kSpinAfterRun = std::chrono::microseconds(60);

// True while this thread is inside a loop body: loops in there run serially.
thread_local bool inside_loop = false;

// The number of this thread among the workers of its pool, 0 for others.
thread_local int worker_index = 0;

// A part of a job's blocks, on its own cache line. Its owner takes blocks from the front, others from the back.
class alignas(64) Share {
 public:
  static constexpr std::int64_t kMostBlocks = std::int64_t{1} << 31;  // of a job: ends are kept in 32 bits

  struct Blocks {
    std::int64_t begin, end;
    bool empty() const { return begin >= end; }
  };

  void Set(std::int64_t begin, std::int64_t end) { bounds_.store(Pack(begin, end), std::memory_order_relaxed); }
  bool Empty() const { return Unpack(bounds_.load(std::memory_order_relaxed)).empty(); }

  // Half of what is left, or `one` block: fewer and fewer, so that all threads end at the same time whatever their
  // speed (guided self-scheduling; Polychronopoulos and Kuck 1987).
  Blocks Take(bool front, bool one) {
    std::uint64_t seen = bounds_.load(std::memory_order_relaxed);
    for (;;) {
      const Blocks left = Unpack(seen);
      if (left.empty()) return left;
      const std::int64_t count = one ? 1 : std::max<std::int64_t>(1, (left.end - left.begin) / 2);
      const std::int64_t cut = front ? left.begin + count : left.end - count;
      const std::uint64_t rest = front ? Pack(cut, left.end) : Pack(left.begin, cut);
      if (!bounds_.compare_exchange_weak(seen, rest, std::memory_order_relaxed)) continue;
      return front ? Blocks{left.begin, cut} : Blocks{cut, left.end};
    }
  }

 private:
  static std::uint64_t Pack(std::int64_t begin, std::int64_t end) {
    return static_cast<std::uint64_t>(begin) << 32 | static_cast<std::uint64_t>(end);
  }
  static Blocks Unpack(std::uint64_t bounds) {
    return {static_cast<std::int64_t>(bounds >> 32), static_cast<std::int64_t>(bounds & 0xffffffff)};
  }

  std::atomic<std::uint64_t> bounds_ = 0;
};

}  // namespace

// What was offered to the workers at once, and who of them took it. Empty without callbacks.
class ThreadPool::Offers {
 public:
  Offers(const WorkCallbacks* callbacks, int count) : callbacks_(callbacks) {
    if (callbacks_ == nullptr) return;
    data_.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) data_.push_back(callbacks_->enqueue());
  }
  ~Offers() {
    for (std::size_t i = taken_.load(); i < data_.size(); ++i) callbacks_->abandon(data_[i]);
  }
  Offers(const Offers&) = delete;
  Offers& operator=(const Offers&) = delete;

  template <typename Work>
  void Take(Work&& work) {
    if (callbacks_ == nullptr) return work();
    const std::size_t i = taken_.fetch_add(1);
    callbacks_->start(data_[i]);
    work();
    callbacks_->stop(data_[i]);
  }

 private:
  const WorkCallbacks* callbacks_;
  std::vector<void*> data_;
  std::atomic<std::size_t> taken_ = 0;
};

// Each thread begins with a share of its own, the same in every loop: what it reads was often written by itself in the
// loop before, and lies in its caches. Then it takes from the others. Which thread takes which never changes a result.
struct ThreadPool::Job {
  static constexpr int kMostShares = 16;  // beyond that, threads begin with a share together

  Job(Parallel::Body work, std::int64_t total, std::int64_t least, int helpers_wanted, bool loop)
      : body(work),
        count(total),
        grain(((total - 1) / least / Share::kMostBlocks + 1) * least),
        max_helpers(helpers_wanted),
        share_count(loop ? std::min(helpers_wanted + 1, kMostShares) : 1),
        core(CurrentCore()),
        is_loop(loop) {
    const std::int64_t blocks = (count - 1) / grain + 1;
    for (int i = 0; i < share_count; ++i) shares[i].Set(blocks * i / share_count, blocks * (i + 1) / share_count);
  }

  bool HasWork() const {
    return std::any_of(shares, shares + share_count, [](const Share& share) { return !share.Empty(); });
  }

  // The share that a helper begins with: if possible the one that is its own by its number, so that it is the same in
  // all loops.
  int ShareOf(int worker) {
    const int own = share_count == 1 ? 0 : 1 + worker % (share_count - 1);
    for (int i = 0; i < share_count; ++i) {
      const int share = (own + i) % share_count;
      const std::uint32_t bit = std::uint32_t{1} << share;
      if ((owned.fetch_or(bit, std::memory_order_relaxed) & bit) == 0) return share;
    }
    return own;
  }

  // first: the share this thread begins with.
  void Work(int first) {
    const FloatControlScope control(float_control);
    inside_loop = is_loop;
    for (int i = 0; i < share_count; ++i) {
      Share& share = shares[(first + i) % share_count];
      for (;;) {
        if (failed.load(std::memory_order_relaxed)) break;
        const Share::Blocks blocks = share.Take(i == 0, !is_loop);
        if (blocks.empty()) break;
        try {
          CheckTime();  // of the caller: workers have no limits of their own
          body(blocks.begin * grain, std::min(blocks.end * grain, count));
        } catch (...) {
          if (!failed.exchange(true)) error = std::current_exception();
        }
      }
    }
    inside_loop = false;
  }

  const Parallel::Body body;
  const std::int64_t count;
  const std::int64_t grain;  // of a block
  const int max_helpers;
  const int share_count;
  const int core;                                      // of the caller; helpers keep off it
  const bool is_loop;                                  // else tasks, which may have loops of their own
  const std::uint64_t float_control = FloatControl();  // of the caller; all its helpers compute like it
  std::atomic<std::uint32_t> owned = 1;                // bits of shares; the first is the caller's
  std::atomic<int> helpers = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr error = nullptr;  // of the body that set `failed`
  Offers* offers = nullptr;
  Share shares[kMostShares];
};

ThreadPool::ThreadPool(ThreadPoolOptions options)
    : fork_count_(ForkCount()),
      cores_(options.machine_cores > 0 ? options.machine_cores : AvailableCores()),
      options_(std::move(options)) {}

ThreadPool::~ThreadPool() {
  stop_ = true;
  epoch_.fetch_add(1);
  epoch_.notify_all();
  if (fork_count_.load() == ForkCount()) {
    for (std::thread& thread : threads_) thread.join();
    for (const void* handle : handles_) options_.join(handle);
  } else {
    RestartAfterFork();
  }
}

// The threads of the parent do not exist in the child; their handles must be forgotten, not joined.
void ThreadPool::RestartAfterFork() {
  static_assert(sizeof(threads_) == sizeof(std::vector<std::thread>));
  new (&threads_) std::vector<std::thread>();
  handles_.clear();
  worker_count_ = 0;
  next_worker_ = 0;
  parked_ = 0;
  for (JobSlot& slot : slots_) {
    slot.job = nullptr;
    slot.holders = 0;
    slot.claimed = false;
  }
  const std::scoped_lock lock(tasks_mutex_);
  tasks_.clear();  // the parent runs them
  tasks_waiting_ = 0;
}

void ThreadPool::Grow(int workers) {
  const std::scoped_lock lock(mutex_);
  if (fork_count_.load() != ForkCount()) {
    RestartAfterFork();
    fork_count_ = ForkCount();
  }
  while (worker_count_.load() < workers) {
    StartWorker();
    worker_count_.fetch_add(1);
  }
}

void ThreadPool::StartWorker() {
  HoldLibrary();
  try {
    if (options_.make) {
      handles_.push_back(options_.make(&ThreadPool::Work, this));
    } else {
      threads_.emplace_back(&ThreadPool::Work, this);
    }
  } catch (...) {
    ReleaseHold();
    throw;
  }
}

void ThreadPool::Work(void* pool) {
  MoveHoldToThisThread();
  auto* self = static_cast<ThreadPool*>(pool);
  self->Worker(self->next_worker_.fetch_add(1));
}

void ThreadPool::BeginRun() { active_runs_.fetch_add(1, std::memory_order_relaxed); }
void ThreadPool::EndRun() { active_runs_.fetch_sub(1, std::memory_order_relaxed); }

void ThreadPool::Wake() {
  epoch_.fetch_add(1);
  if (parked_.load() > 0) epoch_.notify_all();
}

ThreadPool::JobSlot* ThreadPool::Claim() {
  for (JobSlot& slot : slots_)
    if (!slot.claimed.load(std::memory_order_relaxed) && !slot.claimed.exchange(true)) return &slot;
  return nullptr;
}

// The caller's part: works, then waits for those that still do.
void ThreadPool::Run(JobSlot& slot, Job& job) {
  Offers offers(options_.callbacks.get(), job.max_helpers);  // outlives all helpers, which are waited for below
  job.offers = &offers;
  slot.job.store(&job);
  Wake();
  job.Work(0);
  slot.job.store(nullptr);
  for (int spins = 0; slot.holders.load() != 0; ++spins) {
    if (!job.is_loop && TakeAnyJob(nullptr, true)) {
      spins = 0;
    } else if (spins < 4096) {
      SpinPause();
    } else {
      std::this_thread::yield();
    }
  }
  slot.claimed.store(false);
  if (job.failed) std::rethrow_exception(job.error);
}

// Runs at once have a core each before any of them gets a second one: a helper that takes the core of another caller
// costs more than it gives. One run alone has as many as it asks for, even above the cores.
int ThreadPool::Helpers(int threads, std::int64_t blocks) const {
  const int wanted = static_cast<int>(std::min<std::int64_t>(threads, blocks)) - 1;
  const int runs = active_runs_.load(std::memory_order_relaxed);
  return runs > 1 ? std::min(wanted, cores_ - runs) : wanted;
}

void ThreadPool::For(int threads, std::int64_t count, std::int64_t grain, Parallel::Body body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t blocks = (count + grain - 1) / grain;
  const int helpers = Helpers(threads, blocks);
  if (helpers <= 0 || inside_loop) return body(0, count);
  if (worker_count_.load(std::memory_order_relaxed) < threads - 1 ||
      fork_count_.load(std::memory_order_relaxed) != ForkCount())
    Grow(threads - 1);
  JobSlot* mine = Claim();
  if (mine == nullptr) return body(0, count);  // more loops at once than slots: the workers are busy anyway
  Job job(body, count, grain, helpers, true);
  Run(*mine, job);
}

void ThreadPool::ForTasks(int threads, std::int64_t count, Parallel::Body body) {
  const int helpers = Helpers(threads, count);
  JobSlot* mine = nullptr;
  if (helpers > 0 && !inside_loop) {
    if (worker_count_.load(std::memory_order_relaxed) < threads - 1 ||
        fork_count_.load(std::memory_order_relaxed) != ForkCount())
      Grow(threads - 1);
    mine = Claim();
  }
  if (mine == nullptr) {
    for (std::int64_t i = 0; i < count; ++i) body(i, i + 1);
    return;
  }
  Job job(body, count, 1, helpers, false);
  Run(*mine, job);
}

// Several runs at once would overwrite each other's announcements.
void ThreadPool::Announce(int threads, std::span<const std::byte> bytes) {
  if (active_runs_.load(std::memory_order_relaxed) <= 1) ahead_.Announce(bytes, threads);
}

bool ThreadPool::TakeAnyJob(ThreadPlace* place, bool loops_only) {
  for (JobSlot& slot : slots_) {
    if (slot.job.load(std::memory_order_relaxed) == nullptr) continue;
    // Holding the slot first and reading the job after it keeps the job alive: its owner clears the slot, then waits
    // for holders.
    slot.holders.fetch_add(1);
    Job* job = slot.job.load();
    bool worked = false;
    if (job != nullptr && (job->is_loop || !loops_only) && job->HasWork() &&
        job->helpers.load(std::memory_order_relaxed) < job->max_helpers &&
        job->helpers.fetch_add(1) < job->max_helpers) {
      if (place != nullptr && job->core >= 0 && CurrentCore() == job->core) place->KeepOff(job->core);
      job->offers->Take([&] { job->Work(job->ShareOf(worker_index)); });
      worked = true;
    }
    slot.holders.fetch_sub(1);
    if (worked) return true;
  }
  return false;
}

void ThreadPool::Schedule(std::function<void()> task) {
  if (worker_count_.load() < 1 || fork_count_.load() != ForkCount()) Grow(1);
  if (options_.callbacks != nullptr) {
    task = [offers = std::make_shared<Offers>(options_.callbacks.get(), 1), inner = std::move(task)] {
      offers->Take(inner);
    };
  }
  {
    const std::scoped_lock lock(tasks_mutex_);
    tasks_.push_back(std::move(task));
    tasks_waiting_.fetch_add(1);
  }
  Wake();
}

bool ThreadPool::TakeTask() {
  if (tasks_waiting_.load() == 0) return false;
  std::function<void()> task;
  {
    const std::scoped_lock lock(tasks_mutex_);
    if (tasks_.empty()) return false;
    task = std::move(tasks_.front());
    tasks_.pop_front();
    tasks_waiting_.fetch_sub(1);
  }
  task();
  return true;
}

void ThreadPool::Worker(int index) {
  worker_index = index;
  AskForShortSlices();
  if (!options_.cores.empty()) StayOnCores(options_.cores[static_cast<std::size_t>(index) % options_.cores.size()]);
  ThreadPlace place;
  ReadAhead::Reader ahead(ahead_, index, Cpu().l2_bytes / 2);
  Clock::time_point idle_since = Clock::now();
  int pauses = 1;
  for (int spins = 0; !stop_.load(std::memory_order_relaxed); ++spins) {
    if (TakeTask() || TakeAnyJob(&place)) {
      idle_since = Clock::now();
      pauses = 1;
      continue;
    }
    if (const auto next = options_.spin ? ahead.Next() : std::span<const std::byte>(); !next.empty()) {
      Prefetch(next);
      continue;
    }
    for (int i = 0; i < pauses; ++i) SpinPause();
    pauses = std::min(2 * pauses, options_.longest_pause);
    if (spins % 32 != 0 && options_.spin) continue;
    const int runs = active_runs_.load(std::memory_order_relaxed);
    const bool running = runs > 0;
    const bool crowded = runs > 1 && runs >= cores_;  // there is nothing to help with, see Helpers
    const auto limit = running ? options_.spin_during_run : std::min(options_.spin_during_run, kSpinAfterRun);
    if (options_.spin && !crowded && (running || options_.spin_after_run) && Clock::now() - idle_since < limit) {
      if (spins % 1024 == 0) std::this_thread::yield();
      continue;
    }
    const std::uint32_t seen = epoch_.load();
    parked_.fetch_add(1);
    if (!TakeTask() && !TakeAnyJob(&place) && !stop_.load()) epoch_.wait(seen);
    parked_.fetch_sub(1);
    idle_since = Clock::now();
  }
}

}  // namespace sardonyx::runtime
