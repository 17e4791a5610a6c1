// capi/providers.cpp - the list of providers: one line for each.
#include "capi/providers.h"

#include <memory>

#include "base/lasting.h"
#include "providers/cpu/cpu_provider.h"

namespace sardonyx::capi {

// Lasting: environments outlive static destructors.
const std::vector<providers::ProviderFactory>& ProviderFactories() {
  using List = std::vector<providers::ProviderFactory>;
  static constinit Lasting<List, [] { return std::make_unique<List>(List{providers::CpuProvider()}); }> list;
  return *list;
}

}  // namespace sardonyx::capi
