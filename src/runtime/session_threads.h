// runtime/session_threads.h - the threads of one session: how many, in which pool, and how they wait.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "runtime/environment.h"
#include "runtime/options.h"
#include "runtime/thread_pool.h"

namespace sardonyx::runtime {

// Where threads may run, as ONNX Runtime writes it: "1,2;3-5" is cores 0 and 1 for the first worker and 2 to 4 for the
// second (processors count from 1). Fails with kInvalidArgument naming the text.
std::vector<std::vector<int>> ParseAffinities(const std::string& text);

// A session works in the environment's pool, except in two cases, in which it has its own pool: if its options ask for
// workers that behave differently (that do not spin, are bound to cores, or are made by the caller's functions), or if
// the environment's workers do and the session did not ask for them (use_environment_pool).
class SessionThreads {
 public:
  // If the options leave the number of threads open (0), it is what affinity and the cgroup allow now; any other number
  // is obeyed.
  SessionThreads(Environment& environment, const SessionOptions& options);
  ThreadPool& pool() { return *pool_; }
  Parallel& parallel() { return *parallel_; }  // for the loops of one node
  int branches() const { return branches_; }   // threads that run independent nodes at once; 1 in sequential mode
  bool flushes_denormals() const { return flushes_denormals_; }  // runs treat denormal numbers as zeros

 private:
  std::unique_ptr<ThreadPool> own_;
  ThreadPool* pool_;
  std::unique_ptr<Parallel> parallel_;
  int branches_ = 1;
  bool flushes_denormals_;
};

}  // namespace sardonyx::runtime
