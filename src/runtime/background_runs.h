// runtime/background_runs.h - runs of one session that nobody waits for, on the workers of its pool.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/fork_count.h"
#include "runtime/thread_pool.h"

namespace sardonyx::runtime {

class BackgroundRuns {
 public:
  // Calls `run` on a worker of the pool, which gets one if it has none. It must not throw; what it captures is
  // destroyed before Wait returns. Thread-safe.
  void Start(ThreadPool& pool, std::function<void()> run);
  // Returns when no run is left. Must not be called inside a run, whose worker may be the only one. In a child process
  // after a fork, the parent's runs do not count.
  void Wait() const;
  // Whether this thread is inside a background run, of any session.
  static bool InsideOne();

 private:
  struct Count {
    std::atomic<int> under_way = 0;
    std::atomic<std::uint32_t> forks = ForkCount();  // of the process that counts
  };
  std::shared_ptr<Count> count_ = std::make_shared<Count>();  // shared with the runs, which say last that they are over
};

}  // namespace sardonyx::runtime
