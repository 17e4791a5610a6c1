// plugins/host/cpu_factory.h - the factory of a provider that computes on the CPU, in the host's own memory.
#pragma once

#include <memory>
#include <string>

#include "host_api.h"

namespace plugin_host {

struct ProviderNames {
  const char* name = "";
  const char* vendor = "";
  const char* version = "";
};

// `Maker` keeps what all providers of a library share, and makes them:
//   explicit Maker(const OrtApiBase& host);
//   const HostApi& apis() const;
//   ProviderNames names() const;
//   std::unique_ptr<Provider> Make(const OrtSessionOptions& options) const;   Provider: a struct based on OrtEp
template <typename Maker, typename Provider>
class CpuFactory : public OrtEpFactory {
 public:
  explicit CpuFactory(const OrtApiBase& host) : OrtEpFactory{}, maker_(host) {
    ort_version_supported = maker_.apis().host_version;
    GetName = [](const OrtEpFactory* self) { return Of(self).names().name; };
    GetVendor = [](const OrtEpFactory* self) { return Of(self).names().vendor; };
    GetVendorId = [](const OrtEpFactory*) -> std::uint32_t { return 0; };
    GetVersion = [](const OrtEpFactory* self) { return Of(self).names().version; };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, std::size_t count,
                             OrtEpDevice** found, std::size_t room, std::size_t* found_count) -> OrtStatus* {
      return static_cast<CpuFactory*>(self)->Devices(devices, count, found, room, *found_count);
    };
    CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, std::size_t,
                  const OrtSessionOptions* options, const OrtLogger*, OrtEp** ep) -> OrtStatus* {
      const Maker& maker = Of(self);
      return Guard(*maker.apis().host, [&] { *ep = maker.Make(*options).release(); });
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* ep) { delete static_cast<Provider*>(ep); };
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** allocator) -> OrtStatus* {
      *allocator = nullptr;  // the host's own memory
      return nullptr;
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) {};
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) { return false; };
  }

  // The bodies of CreateEpFactories and ReleaseEpFactory, the two functions that a host looks up in a library.
  static OrtStatus* Create(const OrtApiBase& host, OrtEpFactory** factories, std::size_t room, std::size_t& count) {
    // A host that is too old has no table that we read; its oldest one makes the status that says so.
    const OrtApi* oldest = host.GetApi(1);
    if (room == 0) return oldest->CreateStatus(ORT_INVALID_ARGUMENT, "expected room for one factory, found none");
    return Guard(*oldest, [&] {
      factories[0] = std::make_unique<CpuFactory>(host).release();
      count = 1;
    });
  }
  static OrtStatus* Release(OrtEpFactory* factory) {
    delete static_cast<CpuFactory*>(factory);
    return nullptr;
  }

 private:
  static const Maker& Of(const OrtEpFactory* self) { return static_cast<const CpuFactory*>(self)->maker_; }

  OrtStatus* Devices(const OrtHardwareDevice* const* devices, std::size_t count, OrtEpDevice** found, std::size_t room,
                     std::size_t& found_count) {
    const HostApi& apis = maker_.apis();
    return Guard(*apis.host, [&] {
      found_count = 0;
      for (std::size_t i = 0; i < count && found_count < room; ++i) {
        if (apis.host->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        apis.Host(apis.host_ep->CreateEpDevice(this, devices[i], nullptr, nullptr, &found[found_count]));
        ++found_count;
      }
    });
  }

  Maker maker_;
};

}  // namespace plugin_host

// Declared here, for a host knows them by name only (CreateEpApiFactoriesFn and ReleaseEpApiFactoryFn of its header).
extern "C" {
ORT_EXPORT OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* host, const OrtLogger* logger,
                                        OrtEpFactory** factories, std::size_t room, std::size_t* count);
ORT_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory);
}
