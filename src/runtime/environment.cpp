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

}  // namespace sardonyx::runtime
