// base/fork_mutex.h - a mutex that is unlocked in a child process, even if a thread held it in the parent.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>

#include "base/fork_count.h"

namespace sardonyx {

// For data that must be consistent whenever a fork happens, so change it in few steps at the end of a critical section.
class ForkMutex {
 public:
  void lock() {
    std::uint32_t known = fork_count_.load(std::memory_order_relaxed);
    const std::uint32_t now = ForkCount();
    // If a thread held it, that thread does not exist in this process.
    if (known != now && fork_count_.compare_exchange_strong(known, now)) new (&mutex_) std::mutex();
    mutex_.lock();
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::atomic<std::uint32_t> fork_count_ = ForkCount();
};

}  // namespace sardonyx
