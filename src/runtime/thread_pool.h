// runtime/thread_pool.h - the worker threads of the process.
//
// A loop is a job in one of a few slots, where idle workers look for jobs. Each thread begins with a share of its own,
// then takes from the others' until nothing is left; the caller works, too, so a loop needs no worker. While a run is
// under way workers spin; a short time after the last run has ended they park, so an idle session costs no CPU time. A
// worker that finds itself on the core of the caller leaves it (base/thread_place.h).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/fork_mutex.h"
#include "base/parallel.h"
#include "base/read_ahead.h"

namespace sardonyx {
class ThreadPlace;
}

namespace sardonyx::runtime {

// Functions of the caller that follow each piece of work which is offered to a worker: `enqueue` on the thread that
// offers it, whose result the others get; then `start` and `stop` on the worker that takes it, or `abandon` if none
// does. All are set, or none.
struct WorkCallbacks {
  std::function<void*()> enqueue;
  std::function<void(void*)> start, stop, abandon;
};

// How the workers of a pool are made and how they wait.
struct ThreadPoolOptions {
  bool spin = true;            // look for work for a while before parking
  bool spin_after_run = true;  // false: park as soon as no run is under way
  std::chrono::microseconds spin_during_run{1000};  // serial steps are short: waiting costs less than waking
  int longest_pause = 1;                            // pauses double while there is no work, up to this many at once
  int machine_cores = 0;       // shared by all runs under way; 0: the cores of this machine
  // Where worker i may run: cores[i % size]; none: anywhere.
  std::vector<std::vector<int>> cores;
  // Functions of the caller that make threads: `make` runs work(pool) on a new thread and returns a handle for `join`.
  std::function<const void*(void (*work)(void*), void* pool)> make;
  std::function<void(const void*)> join;
  std::shared_ptr<const WorkCallbacks> callbacks;  // null: none; shared by the pools of an environment
};

class ThreadPool {
 public:
  explicit ThreadPool(ThreadPoolOptions options = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  const ThreadPoolOptions& options() const { return options_; }
  // Makes sure that at least `workers` threads exist (besides the callers).
  void Grow(int workers);
  // Parallel::For with at most `threads` threads, the caller included.
  void For(int threads, std::int64_t count, std::int64_t grain, Parallel::Body body);
  // Calls body(i, i + 1) for every i of [0, count) on at most `threads` threads, the caller included. Unlike the body
  // of a loop, a task may use For and ForTasks itself: threads that wait for the last tasks help with their loops
  // meanwhile.
  void ForTasks(int threads, std::int64_t count, Parallel::Body body);
  // Calls `task` once on a worker, which is made if there is none; tasks of one pool begin in their order, and may use
  // For and ForTasks. It must not throw. Whoever schedules it must wait for its end before the pool is destroyed. A
  // child process after a fork forgets it.
  void Schedule(std::function<void()> task);
  // The next loop of at most `threads` threads reads these bytes: workers that wait bring some into their caches.
  void Announce(int threads, std::span<const std::byte> bytes);
  // Between these calls workers spin for jobs instead of parking.
  void BeginRun();
  void EndRun();

 private:
  static constexpr int kSlots = 32;
  struct Job;
  class Offers;
  // On its own cache line: a job's pointer, and how many workers hold it.
  struct alignas(64) JobSlot {
    std::atomic<Job*> job = nullptr;
    std::atomic<int> holders = 0;
    std::atomic<bool> claimed = false;  // by a caller
  };

  int Helpers(int threads, std::int64_t blocks) const;
  static void Work(void* pool);
  void StartWorker();
  void Worker(int index);
  JobSlot* Claim();
  void Run(JobSlot& slot, Job& job);
  bool TakeAnyJob(ThreadPlace* place, bool loops_only = false);
  bool TakeTask();
  void Wake();
  void RestartAfterFork();

  std::array<JobSlot, kSlots> slots_;
  alignas(64) std::atomic<std::uint32_t> epoch_ = 0;  // changes when there may be work; parked workers wait on it
  std::atomic<int> parked_ = 0;
  std::atomic<int> active_runs_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<int> worker_count_ = 0;
  std::atomic<std::uint32_t> fork_count_;  // of the worker threads: after a fork they are gone
  std::atomic<int> next_worker_ = 0;
  std::atomic<int> tasks_waiting_ = 0;
  ReadAhead ahead_;
  const int cores_;  // that this process may use
  ForkMutex mutex_;  // guards threads_ and handles_
  ForkMutex tasks_mutex_;
  std::deque<std::function<void()>> tasks_;
  std::vector<std::thread> threads_;
  std::vector<const void*> handles_;  // of threads made by options_.make
  const ThreadPoolOptions options_;
};

}  // namespace sardonyx::runtime
