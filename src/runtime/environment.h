// runtime/environment.h - what the sessions of a process share: logger, threads, allocator, operators.
#pragma once

#include <memory>
#include <mutex>

#include "base/logging.h"
#include "ops/registry.h"
#include "runtime/thread_pool.h"

namespace sardonyx::runtime {

// Shared by its sessions, hence held by shared_ptr.
class Environment {
 public:
  explicit Environment(Logger logger, int pool_threads = 0);
  const Logger& logger() const { return logger_; }
  void set_log_severity(Severity severity) { logger_.set_threshold(severity); }  // of sessions made from now on
  const ops::Registry& registry() const { return registry_; }
  // Threads for a session that asked for `threads` (0: as many as affinity and the cgroup allow).
  std::unique_ptr<Parallel> MakeParallel(int threads);
  int pool_threads() const { return pool_threads_; }  // of global thread pools; 0 if not set
  ThreadPool& pool() { return pool_; }

 private:
  Logger logger_;
  ops::Registry registry_;
  int pool_threads_;
  ThreadPool pool_;
};

}  // namespace sardonyx::runtime
