// runtime/thread_pool.cpp - job slots, workers that spin briefly and then park.
#include "runtime/thread_pool.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <new>

#include "base/limits.h"
#include "base/thread_place.h"

namespace sardonyx::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// How long a worker looks for work before it parks. During a run serial steps are short: waiting costs less than
// waking.
constexpr auto kSpinDuringRun = std::chrono::microseconds(1000);
constexpr auto kSpinAfterRun = std::chrono::microseconds(60);

// True while this thread is inside a loop body: loops in there run serially.
thread_local bool inside_loop = false;

void Pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

struct ThreadPool::Job {
  Parallel::Body body;
  std::int64_t count;
  std::int64_t grain;
  std::int64_t blocks;  // of `grain` each
  int max_helpers;
  int core;  // of the caller; helpers keep off it
  std::atomic<std::int64_t> next = 0;
  std::atomic<int> helpers = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr error = nullptr;  // of the body that set `failed`

  void Work() {
    inside_loop = true;
    for (std::int64_t first = next.load(std::memory_order_relaxed); !failed.load(std::memory_order_relaxed);) {
      if (first >= blocks) break;
      const std::int64_t chunk = Chunk(blocks - first);
      if (!next.compare_exchange_weak(first, first + chunk, std::memory_order_relaxed)) continue;
      try {
        CheckTime();  // of the caller: workers have no limits of their own
        body(first * grain, std::min((first + chunk) * grain, count));
      } catch (...) {
        if (!failed.exchange(true)) error = std::current_exception();
      }
      first = next.load(std::memory_order_relaxed);
    }
    inside_loop = false;
  }

  // How many of the blocks left are taken at once: fewer and fewer, so that all threads end at the same time whatever
  // their speed (guided self-scheduling; Polychronopoulos and Kuck 1987). Which thread takes which never changes a
  // result.
  std::int64_t Chunk(std::int64_t left) const {
    return std::max<std::int64_t>(1, left / (std::int64_t{2} * (max_helpers + 1)));
  }
};

ThreadPool::~ThreadPool() {
  stop_ = true;
  epoch_.fetch_add(1);
  epoch_.notify_all();
  if (process_.load() == getpid() || threads_.empty()) {
    for (std::thread& thread : threads_) thread.join();
  } else {
    RestartAfterFork();
  }
}

// The threads of the parent do not exist in the child; their handles must be forgotten, not joined.
void ThreadPool::RestartAfterFork() {
  static_assert(sizeof(threads_) == sizeof(std::vector<std::thread>));
  new (&threads_) std::vector<std::thread>();
  worker_count_ = 0;
  parked_ = 0;
  active_runs_ = 0;
  for (JobSlot& slot : slots_) {
    slot.job = nullptr;
    slot.holders = 0;
    slot.claimed = false;
  }
}

void ThreadPool::Grow(int workers) {
  const std::scoped_lock lock(mutex_);
  if (process_.load() != getpid()) {
    if (!threads_.empty()) RestartAfterFork();
    process_ = getpid();
  }
  while (static_cast<int>(threads_.size()) < workers) threads_.emplace_back([this] { Worker(); });
  worker_count_ = static_cast<int>(threads_.size());
}

void ThreadPool::BeginRun() { active_runs_.fetch_add(1, std::memory_order_relaxed); }
void ThreadPool::EndRun() { active_runs_.fetch_sub(1, std::memory_order_relaxed); }

void ThreadPool::Wake() {
  epoch_.fetch_add(1);
  if (parked_.load() > 0) epoch_.notify_all();
}

void ThreadPool::For(int threads, std::int64_t count, std::int64_t grain, Parallel::Body body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(grain, 1);
  const std::int64_t blocks = (count + grain - 1) / grain;
  const int helpers = static_cast<int>(std::min<std::int64_t>(threads, blocks)) - 1;
  if (helpers <= 0 || inside_loop) return body(0, count);
  if (worker_count_.load(std::memory_order_relaxed) < threads - 1 ||
      process_.load(std::memory_order_relaxed) != getpid())
    Grow(threads - 1);

  JobSlot* mine = nullptr;
  for (JobSlot& slot : slots_) {
    if (!slot.claimed.load(std::memory_order_relaxed) && !slot.claimed.exchange(true)) {
      mine = &slot;
      break;
    }
  }
  if (mine == nullptr) return body(0, count);  // more loops at once than slots: the workers are busy anyway
  Job job{body, count, grain, blocks, helpers, CurrentCore()};
  mine->job.store(&job);
  Wake();
  job.Work();
  mine->job.store(nullptr);
  for (int spins = 0; mine->holders.load() != 0; ++spins) {
    if (spins < 4096) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
  mine->claimed.store(false);
  if (job.failed) std::rethrow_exception(job.error);
}

bool ThreadPool::TakeAnyJob(ThreadPlace& place) {
  for (JobSlot& slot : slots_) {
    if (slot.job.load(std::memory_order_relaxed) == nullptr) continue;
    // Holding the slot first and reading the job after it keeps the job alive: its owner clears the slot, then waits
    // for holders.
    slot.holders.fetch_add(1);
    Job* job = slot.job.load();
    bool worked = false;
    if (job != nullptr && job->next.load(std::memory_order_relaxed) < job->blocks &&
        job->helpers.fetch_add(1) < job->max_helpers) {
      if (job->core >= 0 && CurrentCore() == job->core) place.KeepOff(job->core);
      job->Work();
      worked = true;
    }
    slot.holders.fetch_sub(1);
    if (worked) return true;
  }
  return false;
}

void ThreadPool::Worker() {
  AskForShortSlices();
  ThreadPlace place;
  Clock::time_point idle_since = Clock::now();
  for (int spins = 0; !stop_.load(std::memory_order_relaxed); ++spins) {
    if (TakeAnyJob(place)) {
      idle_since = Clock::now();
      continue;
    }
    Pause();
    if (spins % 32 != 0) continue;
    const auto limit = active_runs_.load(std::memory_order_relaxed) > 0 ? kSpinDuringRun : kSpinAfterRun;
    if (Clock::now() - idle_since < limit) {
      if (spins % 1024 == 0) std::this_thread::yield();
      continue;
    }
    const std::uint32_t seen = epoch_.load();
    parked_.fetch_add(1);
    if (!TakeAnyJob(place) && !stop_.load()) epoch_.wait(seen);
    parked_.fetch_sub(1);
    idle_since = Clock::now();
  }
}

}  // namespace sardonyx::runtime
