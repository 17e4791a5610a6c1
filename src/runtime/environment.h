// runtime/environment.h - what the sessions of a process share: logger, threads, operators, providers.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/logging.h"
#include "ops/registry.h"
#include "providers/provider.h"
#include "runtime/thread_pool.h"

namespace sardonyx::runtime {

// Shared by its sessions, hence held by shared_ptr.
class Environment {
 public:
  // `factories`: the providers that sessions may ask for, the CPU among them.
  Environment(Logger logger, std::vector<providers::ProviderFactory> factories, int pool_threads = 0);
  const Logger& logger() const { return logger_; }
  void set_log_severity(Severity severity) { logger_.set_threshold(severity); }  // of sessions made from now on
  const ops::Registry& registry() const { return registry_; }
  std::span<const providers::ProviderFactory> factories() const { return factories_; }
  const providers::ProviderFactory* FindFactory(std::string_view name) const;  // nullptr if there is none
  // Threads for a session that asked for `threads` (0: as many as affinity and the cgroup allow).
  std::unique_ptr<Parallel> MakeParallel(int threads);
  int pool_threads() const { return pool_threads_; }  // of global thread pools; 0 if not set
  ThreadPool& pool() { return pool_; }

 private:
  Logger logger_;
  ops::Registry registry_;
  std::vector<providers::ProviderFactory> factories_;
  int pool_threads_;
  ThreadPool pool_;
};

}  // namespace sardonyx::runtime
