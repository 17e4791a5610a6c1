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
  return std::make_shared<runtime::Environment>(Logger(), std::move(factories));
}

}  // namespace sardonyx::testing
