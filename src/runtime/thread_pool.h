// runtime/thread_pool.h - the worker threads of the process.
//
// A loop is a job in one of a few slots; idle workers look for jobs there and take chunks of them until none are left.
// The caller works on its own job, so a loop makes progress without any worker. While a run is under way workers spin;
// a short time after the last run has ended they park, so an idle session costs no CPU time. A worker that finds itself
// on the core of the caller leaves it (base/thread_place.h).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/parallel.h"

namespace sardonyx {
class ThreadPlace;
}

namespace sardonyx::runtime {

class ThreadPool {
 public:
  ThreadPool() = default;
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  // Makes sure that at least `workers` threads exist (besides the callers).
  void Grow(int workers);
  // Parallel::For with at most `threads` threads, the caller included.
  void For(int threads, std::int64_t count, std::int64_t grain, Parallel::Body body);
  // Between these calls workers spin for jobs instead of parking.
  void BeginRun();
  void EndRun();

 private:
  static constexpr int kSlots = 32;
  struct Job;
  // On its own cache line: a job's pointer, and how many workers hold it.
  struct alignas(64) JobSlot {
    std::atomic<Job*> job = nullptr;
    std::atomic<int> holders = 0;
    std::atomic<bool> claimed = false;  // by a caller
  };

  void Worker();
  bool TakeAnyJob(ThreadPlace& place);
  void Wake();
  void RestartAfterFork();

  std::array<JobSlot, kSlots> slots_;
  alignas(64) std::atomic<std::uint32_t> epoch_ = 0;  // changes when there may be work; parked workers wait on it
  std::atomic<int> parked_ = 0;
  std::atomic<int> active_runs_ = 0;
  std::atomic<bool> stop_ = false;
  std::atomic<int> worker_count_ = 0;
  std::atomic<int> process_ = 0;  // of the worker threads: after a fork they are gone
  std::mutex mutex_;              // guards threads_
  std::vector<std::thread> threads_;
};

}  // namespace sardonyx::runtime
