// runtime/environment.h - what the sessions of a process share: logger, threads, operators, providers.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "base/logging.h"
#include "ops/registry.h"
#include "providers/provider.h"
#include "runtime/thread_pool.h"
#include "tensor/allocator.h"

namespace sardonyx::runtime {

// Thread counts of sessions that use the environment's instead of their own; 0: as many as the machine grants.
struct PoolThreads {
  int intra_op = 0, inter_op = 0;
  bool flush_denormals = false;  // their runs treat denormal numbers as zeros
};

// Shared by its sessions, hence held by shared_ptr.
class Environment {
 public:
  // `factories`: the providers that sessions may ask for, the CPU among them.
  Environment(Logger logger, std::vector<providers::ProviderFactory> factories, PoolThreads pool_threads = {},
              ThreadPoolOptions pool_options = {});
  const Logger& logger() const { return logger_; }
  void set_log_severity(Severity severity) { logger_.set_threshold(severity); }  // of sessions made from now on
  const ops::Registry& registry() const { return registry_; }
  std::span<const providers::ProviderFactory> factories() const { return factories_; }
  const providers::ProviderFactory* FindFactory(std::string_view name) const;  // nullptr if there is none
  const PoolThreads& pool_threads() const { return pool_threads_; }
  ThreadPool& pool() { return pool_; }

  // Host memory for the sessions that ask for the environment's (session.use_env_allocators); null: none is registered.
  // Sessions that have taken it keep it. Thread-safe.
  std::shared_ptr<Allocator> host_allocator() const;
  void set_host_allocator(std::shared_ptr<Allocator> allocator);
  // Of the pools of sessions made from now on, which are then their own. Thread-safe.
  std::shared_ptr<const WorkCallbacks> session_callbacks() const;
  void set_session_callbacks(std::shared_ptr<const WorkCallbacks> callbacks);

 private:
  Logger logger_;
  ops::Registry registry_;
  std::vector<providers::ProviderFactory> factories_;
  PoolThreads pool_threads_;
  ThreadPool pool_;
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<Allocator> host_allocator_;
  std::shared_ptr<const WorkCallbacks> session_callbacks_;
};

}  // namespace sardonyx::runtime
