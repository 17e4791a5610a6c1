// capi/providers.cpp - the list of providers: one line for each.
#include "capi/providers.h"

#include <memory>

#include "providers/cpu/cpu_provider.h"

namespace sardonyx::capi {

// Never destroyed: environments outlive static destructors.
const std::vector<providers::ProviderFactory>& ProviderFactories() {
  using List = std::vector<providers::ProviderFactory>;
  static const List* const list = std::make_unique<List>(List{providers::CpuProvider()}).release();
  return *list;
}

}  // namespace sardonyx::capi
