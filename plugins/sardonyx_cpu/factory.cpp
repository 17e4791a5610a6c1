// plugins/sardonyx_cpu/factory.cpp - what the host finds in the library: Sardonyx as a provider for the CPU.
#include "apis.h"
#include "cpu_factory.h"
#include "provider.h"

namespace sardonyx_cpu {
namespace {

class Maker {
 public:
  explicit Maker(const OrtApiBase& host) : apis_(host), own_(apis_) {}

  const Apis& apis() const { return apis_; }
  plugin_host::ProviderNames names() const {
    return {.name = kName, .vendor = "Sardonyx", .version = SardonyxGetApi(SARDONYX_API_VERSION)->GetVersionString()};
  }
  std::unique_ptr<Provider> Make(const OrtSessionOptions& options) const {
    return std::make_unique<Provider>(own_, options);
  }

 private:
  Apis apis_;
  OwnRuntime own_;
};

using Factory = plugin_host::CpuFactory<Maker, Provider>;

}  // namespace
}  // namespace sardonyx_cpu

OrtStatus* CreateEpFactories(const char*, const OrtApiBase* host, const OrtLogger*, OrtEpFactory** factories,
                             std::size_t room, std::size_t* count) {
  return sardonyx_cpu::Factory::Create(*host, factories, room, *count);
}

OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) { return sardonyx_cpu::Factory::Release(factory); }
