// capi/providers.h - the execution providers of this library; the one place that names concrete ones.
#pragma once

#include <vector>

#include "providers/provider.h"

namespace sardonyx::capi {

const std::vector<providers::ProviderFactory>& ProviderFactories();

}  // namespace sardonyx::capi
