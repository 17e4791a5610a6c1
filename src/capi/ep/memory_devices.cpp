// capi/ep/memory_devices.cpp - the functions of OrtMemoryDevice.
#include "capi/functions.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/value.h"

namespace sardonyx::capi::ep {

const OrtMemoryDevice* ORT_API_CALL MemoryInfo_GetMemoryDevice(const OrtMemoryInfo* memory_info) noexcept {
  return Given(memory_info) ? AsHandle(&memory_info->device) : nullptr;
}

// Values other than dense tensors lie on the host.
const OrtMemoryDevice* ORT_API_CALL Value_GetMemoryDevice(const OrtValue* value) noexcept {
  if (!Given(value)) return nullptr;
  const Value& given = *AsValue(value);
  if (!given.is_tensor() || given.tensor().buffer() == nullptr) return AsHandle(&HostMemoryInfo().device);
  return AsHandle(&given.tensor().buffer()->device());
}

bool ORT_API_CALL MemoryDevice_AreEqual(const OrtMemoryDevice* a, const OrtMemoryDevice* b) noexcept {
  return a == b || (a != nullptr && b != nullptr && DeviceOf(*a) == DeviceOf(*b));
}

OrtMemoryInfoDeviceType ORT_API_CALL MemoryDevice_GetDeviceType(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device != nullptr ? ToDeviceType(DeviceOf(*memory_device).type) : OrtMemoryInfoDeviceType_CPU;
}

OrtDeviceMemoryType ORT_API_CALL MemoryDevice_GetMemoryType(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device != nullptr ? static_cast<OrtDeviceMemoryType>(DeviceOf(*memory_device).memory)
                                  : OrtDeviceMemoryType_DEFAULT;
}

uint32_t ORT_API_CALL MemoryDevice_GetVendorId(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device != nullptr ? DeviceOf(*memory_device).vendor : 0;
}

uint32_t ORT_API_CALL MemoryDevice_GetDeviceId(const OrtMemoryDevice* memory_device) noexcept {
  return memory_device != nullptr ? static_cast<std::uint32_t>(DeviceOf(*memory_device).id) : 0;
}

}  // namespace sardonyx::capi::ep
