// plugins/sardonyx_cpu/factory.cpp - what the host finds in the library: Sardonyx as a provider for the CPU.
#include <cstdint>

#include "apis.h"
#include "provider.h"

namespace sardonyx_cpu {
namespace {

class Factory : public OrtEpFactory {
 public:
  explicit Factory(const OrtApiBase& host) : OrtEpFactory{}, apis_(ConnectTo(host)), own_(apis_) {
    ort_version_supported = apis_.host_version;
    GetName = [](const OrtEpFactory*) -> const char* { return kName; };
    GetVendor = [](const OrtEpFactory*) -> const char* { return "Sardonyx"; };
    GetVendorId = [](const OrtEpFactory*) -> std::uint32_t { return 0; };
    GetVersion = [](const OrtEpFactory*) -> const char* {
      return SardonyxGetApi(SARDONYX_API_VERSION)->GetVersionString();
    };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, std::size_t count,
                             OrtEpDevice** found, std::size_t room, std::size_t* found_count) -> OrtStatus* {
      return static_cast<Factory*>(self)->Devices(devices, count, found, room, *found_count);
    };
    CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, std::size_t,
                  const OrtSessionOptions* options, const OrtLogger*, OrtEp** ep) -> OrtStatus* {
      auto& factory = *static_cast<Factory*>(self);
      return Guard(*factory.apis_.host, [&] { *ep = std::make_unique<Provider>(factory.own_, *options).release(); });
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

  const OrtApi& host() const { return *apis_.host; }

 private:
  OrtStatus* Devices(const OrtHardwareDevice* const* devices, std::size_t count, OrtEpDevice** found, std::size_t room,
                     std::size_t& found_count) {
    return Guard(*apis_.host, [&] {
      found_count = 0;
      for (std::size_t i = 0; i < count && found_count < room; ++i) {
        if (apis_.host->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        apis_.Host(apis_.host_ep->CreateEpDevice(this, devices[i], nullptr, nullptr, &found[found_count]));
        ++found_count;
      }
    });
  }

  Apis apis_;
  OwnRuntime own_;
};

}  // namespace
}  // namespace sardonyx_cpu

extern "C" {

// What a host looks up: CreateEpApiFactoriesFn and ReleaseEpApiFactoryFn of its header.
ORT_EXPORT OrtStatus* CreateEpFactories(const char*, const OrtApiBase*, const OrtLogger*, OrtEpFactory**, std::size_t,
                                        std::size_t*);
ORT_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory*);

ORT_EXPORT OrtStatus* CreateEpFactories(const char*, const OrtApiBase* host, const OrtLogger*, OrtEpFactory** factories,
                                        std::size_t room, std::size_t* count) {
  using sardonyx_cpu::Factory;
  // Without a table of the host there is no status either: a host that is too old gets one from its oldest table.
  const OrtApi* oldest = host->GetApi(1);
  if (room == 0) return oldest->CreateStatus(ORT_INVALID_ARGUMENT, "expected room for one factory, found none");
  return sardonyx_cpu::Guard(*oldest, [&] {
    factories[0] = std::make_unique<Factory>(*host).release();
    *count = 1;
  });
}

ORT_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<sardonyx_cpu::Factory*>(factory);
  return nullptr;
}

}  // extern "C"
