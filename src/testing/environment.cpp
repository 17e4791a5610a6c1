// testing/environment.cpp - makes the environments of unit tests.
#include "testing/environment.h"

#include "testing/device_provider.h"
#include "testing/selective_provider.h"

namespace sardonyx::testing {

const std::shared_ptr<runtime::Environment>& TestEnvironment() {
  static const auto environment = EnvironmentWith({SelectiveProvider(), DeviceProvider()});
  return environment;
}

std::shared_ptr<runtime::Environment> EnvironmentWith(std::vector<providers::ProviderFactory> factories) {
  factories.insert(factories.begin(), providers::CpuProvider());
  // Runs at once help each other here as on a large machine, so that tests of threads test that on any.
  runtime::ThreadPoolOptions pool;
  pool.machine_cores = 64;
  return std::make_shared<runtime::Environment>(Logger(), std::move(factories), runtime::PoolThreads(), pool);
}

}  // namespace sardonyx::testing
