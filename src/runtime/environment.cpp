// runtime/environment.cpp - holds what sessions share.
#include "runtime/environment.h"

#include <utility>

namespace sardonyx::runtime {
Environment::Environment(Logger logger, std::vector<providers::ProviderFactory> factories, PoolThreads pool_threads,
                         ThreadPoolOptions pool_options)
    : logger_(std::move(logger)),
      factories_(std::move(factories)),
      pool_threads_(pool_threads),
      pool_(std::move(pool_options)) {}

const providers::ProviderFactory* Environment::FindFactory(std::string_view name) const {
  for (const providers::ProviderFactory& factory : factories_)
    if (factory.name == name) return &factory;
  return nullptr;
}

std::shared_ptr<Allocator> Environment::host_allocator() const {
  const std::scoped_lock lock(mutex_);
  return host_allocator_;
}

void Environment::set_host_allocator(std::shared_ptr<Allocator> allocator) {
  const std::scoped_lock lock(mutex_);
  host_allocator_ = std::move(allocator);
}

std::shared_ptr<const WorkCallbacks> Environment::session_callbacks() const {
  const std::scoped_lock lock(mutex_);
  return session_callbacks_;
}

void Environment::set_session_callbacks(std::shared_ptr<const WorkCallbacks> callbacks) {
  const std::scoped_lock lock(mutex_);
  session_callbacks_ = std::move(callbacks);
}

}  // namespace sardonyx::runtime
