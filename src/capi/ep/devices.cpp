// capi/ep/devices.cpp - what plug-ins call to describe the devices that they support.
#include <memory>
#include <string>

#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/ep_device.h"
#include "capi/handles/release.h"
#include "capi/handles/status.h"
#include "providers/plugin/fields.h"

namespace sardonyx::capi::ep {

OrtStatusPtr ORT_API_CALL CreateEpDevice(OrtEpFactory* ep_factory, const OrtHardwareDevice* hardware_device,
                                         const OrtKeyValuePairs* ep_metadata, const OrtKeyValuePairs* ep_options,
                                         OrtEpDevice** ep_device) noexcept {
  return Guard([&] {
    const OrtEpFactory* factory = &Need(ep_factory, "ep_factory");
    auto& result = Need(ep_device, "ep_device");
    auto device = std::make_unique<OrtEpDevice>();
    device->device = &Need(hardware_device, "hardware_device");
    device->factory = ep_factory;
    const auto text = [](const char* found) { return std::string(found != nullptr ? found : ""); };
    device->ep_name = text(CallOut("OrtEpFactory::GetName", factory->GetName, factory));
    device->ep_vendor = text(CallOut("OrtEpFactory::GetVendor", factory->GetVendor, factory));
    if (ep_options != nullptr)
      for (const auto& [key, value] : ep_options->entries()) device->options.Set(key, value);
    if (const auto version = plugin::FieldOf(factory, &OrtEpFactory::GetVersion))
      device->metadata.Set("version", text(CallOut("OrtEpFactory::GetVersion", version, factory)));
    if (NeedKind(ep_metadata, "ep_metadata") != nullptr)
      for (const auto& [key, value] : ep_metadata->entries()) device->metadata.Set(key, value);
    result = device.release();
  });
}

void ORT_API_CALL ReleaseEpDevice(OrtEpDevice* input) noexcept { ReleaseHandle(input); }

OrtStatusPtr ORT_API_CALL EpDevice_AddAllocatorInfo(OrtEpDevice* ep_device,
                                                    const OrtMemoryInfo* allocator_memory_info) noexcept {
  return Guard([&] {
    OrtEpDevice& device = Need(ep_device, "ep_device");
    const OrtMemoryInfo& info = Need(allocator_memory_info, "allocator_memory_info");
    if (info.device.memory == MemoryKind::kHostAccessible) {
      device.host_accessible_memory = &info;
    } else if (info.allocator_type == OrtReadOnlyAllocator) {
      device.read_only_memory = &info;
    } else {
      device.memory = &info;
    }
  });
}

OrtStatusPtr ORT_API_CALL CreateHardwareDevice(OrtHardwareDeviceType type, uint32_t vendor_id, uint32_t device_id,
                                               const char* vendor_name, const OrtKeyValuePairs* metadata,
                                               OrtHardwareDevice** hardware_device) noexcept {
  return Guard([&] {
    auto& result = Need(hardware_device, "hardware_device");
    const OrtKeyValuePairs::Entries entries =
        NeedKind(metadata, "metadata") != nullptr ? metadata->entries() : OrtKeyValuePairs::Entries{};
    result = std::make_unique<OrtHardwareDevice>(
                 OrtHardwareDevice{
                     {}, type, vendor_id, device_id, &Need(vendor_name, "vendor_name"), OrtKeyValuePairs(entries)})
                 .release();
  });
}

void ORT_API_CALL ReleaseHardwareDevice(OrtHardwareDevice* input) noexcept { ReleaseHandle(input); }

}  // namespace sardonyx::capi::ep
