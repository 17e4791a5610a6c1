// plugins/onednn/factory.cpp - what the host finds in the library: oneDNN as a provider for the CPU.
#include <cstdlib>

#include "cpu_factory.h"
#include "provider.h"

namespace sardonyx_onednn {
namespace {

// oneDNN keeps the last 1,024 primitives of the process, whether anybody uses them or not: with shapes that change that
// is up to half a gigabyte of code. Plans keep what they use, so few are enough, unless the user says how many.
void LimitPrimitiveCache() {
  if (std::getenv("DNNL_PRIMITIVE_CACHE_CAPACITY") != nullptr) return;
  dnnl::set_primitive_cache_capacity(32);
}

class Maker {
 public:
  explicit Maker(const OrtApiBase& host)
      : library_{plugin_host::ConnectToHost(host, kName), dnnl::engine(dnnl::engine::kind::cpu, 0)} {
    const dnnl_version_t& version = *dnnl::version();
    version_ =
        std::to_string(version.major) + "." + std::to_string(version.minor) + "." + std::to_string(version.patch);
    LimitPrimitiveCache();
  }

  const plugin_host::HostApi& apis() const { return library_.apis; }
  plugin_host::ProviderNames names() const {
    return {.name = kName, .vendor = "Sardonyx", .version = version_.c_str()};
  }
  std::unique_ptr<Provider> Make(const OrtSessionOptions& options) const {
    return std::make_unique<Provider>(library_, options);
  }

 private:
  Library library_;
  std::string version_;
};

using Factory = plugin_host::CpuFactory<Maker, Provider>;

}  // namespace
}  // namespace sardonyx_onednn

OrtStatus* CreateEpFactories(const char*, const OrtApiBase* host, const OrtLogger*, OrtEpFactory** factories,
                             std::size_t room, std::size_t* count) {
  return sardonyx_onednn::Factory::Create(*host, factories, room, *count);
}

OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) { return sardonyx_onednn::Factory::Release(factory); }
