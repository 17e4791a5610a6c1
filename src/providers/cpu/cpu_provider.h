// providers/cpu/cpu_provider.h - the built-in provider: its kernels are the rows of ops.
#pragma once

#include "providers/provider.h"

namespace sardonyx::providers {

// Has no options: each that is given logs one warning.
ProviderFactory CpuProvider();

}  // namespace sardonyx::providers
