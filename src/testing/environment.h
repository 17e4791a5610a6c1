// testing/environment.h - sessions in unit tests: an environment with the CPU and the providers for tests.
#pragma once

#include <memory>
#include <vector>

#include "providers/cpu/cpu_provider.h"
#include "runtime/session.h"

namespace sardonyx::testing {

// CPUExecutionProvider, SelectiveTestExecutionProvider, DeviceTestExecutionProvider; one for the process.
const std::shared_ptr<runtime::Environment>& TestEnvironment();

// The CPU and whatever the test brings.
std::shared_ptr<runtime::Environment> EnvironmentWith(std::vector<providers::ProviderFactory> factories);

}  // namespace sardonyx::testing
