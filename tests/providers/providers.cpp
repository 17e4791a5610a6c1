// tests/providers/providers.cpp - the list of providers of the test library: those of src/testing, then the CPU.
//
// Takes the place of capi/providers.cpp in lib/test_providers/libsardonyx.so, which is never installed or packed.
#include "capi/providers.h"

#include <memory>

#include "providers/cpu/cpu_provider.h"
#include "testing/device_provider.h"
#include "testing/selective_provider.h"

namespace sardonyx::capi {

const std::vector<providers::ProviderFactory>& ProviderFactories() {
  using List = std::vector<providers::ProviderFactory>;
  static const List* const list =
      std::make_unique<List>(List{testing::SelectiveProvider(), testing::DeviceProvider(), providers::CpuProvider()})
          .release();
  return *list;
}

}  // namespace sardonyx::capi
