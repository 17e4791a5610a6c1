// runtime/environment.cpp - thread counts and the environment's pool.
#include "runtime/environment.h"

#include <algorithm>

#include "base/cpu_info.h"

namespace sardonyx::runtime {
namespace {

class PoolParallel final : public Parallel {
 public:
  PoolParallel(ThreadPool& pool, int threads) : pool_(pool), threads_(threads) {}
  void For(std::int64_t count, std::int64_t grain, Body body) override { pool_.For(threads_, count, grain, body); }
  int ThreadCount() const override { return threads_; }

 private:
  ThreadPool& pool_;
  int threads_;
};

}  // namespace

Environment::Environment(Logger logger, std::vector<providers::ProviderFactory> factories, int pool_threads)
    : logger_(std::move(logger)), factories_(std::move(factories)), pool_threads_(pool_threads) {}

const providers::ProviderFactory* Environment::FindFactory(std::string_view name) const {
  for (const providers::ProviderFactory& factory : factories_)
    if (factory.name == name) return &factory;
  return nullptr;
}

std::unique_ptr<Parallel> Environment::MakeParallel(int threads) {
  if (threads <= 0) threads = std::max(1, Cpu().logical_cores);
  if (threads == 1) return std::make_unique<Serial>();
  pool_.Grow(threads - 1);
  return std::make_unique<PoolParallel>(pool_, threads);
}

}  // namespace sardonyx::runtime
