// capi/ep_device.cpp - the functions of OrtHardwareDevice and OrtEpDevice.
#include "capi/ep_device.h"

#include <algorithm>
#include <memory>

#include "base/lasting.h"
#include "capi/functions.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/status.h"
#include "providers/plugin/hardware_devices.h"
#include "providers/provider.h"

namespace sardonyx::capi {

const OrtEpDevice& CpuEpDevice() {
  static constexpr auto kMake = [] {
    auto made = std::make_unique<OrtEpDevice>();
    made->ep_name = providers::kCpuName;
    made->ep_vendor = "Sardonyx";
    made->device = plugin::HardwareDevices().front();
    made->metadata.Set("version", SDX_VERSION);
    made->memory = &HostMemoryInfo();
    return made;
  };
  static constinit Lasting<OrtEpDevice, kMake> device;
  return *device;
}

OrtStatusPtr ORT_API_CALL GetNumHardwareDevices(const OrtEnv* env, size_t* num_devices) noexcept {
  return Guard([&] {
    Need(env, "env");
    Need(num_devices, "num_devices") = plugin::HardwareDevices().size();
  });
}

OrtStatusPtr ORT_API_CALL GetHardwareDevices(const OrtEnv* env, const OrtHardwareDevice** devices,
                                             size_t num_devices) noexcept {
  return Guard([&] {
    Need(env, "env");
    const std::span<const OrtHardwareDevice* const> all = plugin::HardwareDevices();
    if (num_devices < all.size())
      Fail(Code::kInvalidArgument, "devices: expected room for ", all.size(), ", found ", num_devices);
    std::copy(all.begin(), all.end(), &Need(devices, "devices"));
  });
}

OrtHardwareDeviceType ORT_API_CALL HardwareDevice_Type(const OrtHardwareDevice* device) noexcept {
  return Given(device) ? device->type : OrtHardwareDeviceType_CPU;
}

uint32_t ORT_API_CALL HardwareDevice_VendorId(const OrtHardwareDevice* device) noexcept {
  return Given(device) ? device->vendor_id : 0;
}

const char* ORT_API_CALL HardwareDevice_Vendor(const OrtHardwareDevice* device) noexcept {
  return Given(device) ? device->vendor.c_str() : "";
}

uint32_t ORT_API_CALL HardwareDevice_DeviceId(const OrtHardwareDevice* device) noexcept {
  return Given(device) ? device->device_id : 0;
}

const OrtKeyValuePairs* ORT_API_CALL HardwareDevice_Metadata(const OrtHardwareDevice* device) noexcept {
  return Given(device) ? &device->metadata : nullptr;
}

const char* ORT_API_CALL EpDevice_EpName(const OrtEpDevice* ep_device) noexcept {
  return Given(ep_device) ? ep_device->ep_name.c_str() : "";
}

const char* ORT_API_CALL EpDevice_EpVendor(const OrtEpDevice* ep_device) noexcept {
  return Given(ep_device) ? ep_device->ep_vendor.c_str() : "";
}

const OrtKeyValuePairs* ORT_API_CALL EpDevice_EpMetadata(const OrtEpDevice* ep_device) noexcept {
  return Given(ep_device) ? &ep_device->metadata : nullptr;
}

const OrtKeyValuePairs* ORT_API_CALL EpDevice_EpOptions(const OrtEpDevice* ep_device) noexcept {
  return Given(ep_device) ? &ep_device->options : nullptr;
}

const OrtHardwareDevice* ORT_API_CALL EpDevice_Device(const OrtEpDevice* ep_device) noexcept {
  return Given(ep_device) ? ep_device->device : nullptr;
}

const OrtMemoryInfo* ORT_API_CALL EpDevice_MemoryInfo(const OrtEpDevice* ep_device,
                                                      OrtDeviceMemoryType memory_type) noexcept {
  if (!Given(ep_device)) return nullptr;
  return memory_type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? ep_device->host_accessible_memory : ep_device->memory;
}

}  // namespace sardonyx::capi
