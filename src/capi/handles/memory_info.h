// capi/handles/memory_info.h - OrtMemoryInfo: a device with the names that the C interface gives it.
#pragma once

#include <string>

#include "onnxruntime_c_api.h"
#include "tensor/device.h"

struct OrtMemoryInfo {
  std::string name;
  OrtAllocatorType allocator_type = OrtDeviceAllocator;
  OrtMemType mem_type = OrtMemTypeDefault;
  sardonyx::Device device;

  bool operator==(const OrtMemoryInfo&) const = default;
};

// What a provider plug-in sees of it is the device alone.
struct OrtMemoryDevice {
  sardonyx::Device device;
};

namespace sardonyx::capi {

// The memory info of host memory: "Cpu", device 0, OrtDeviceAllocator, OrtMemTypeDefault.
const OrtMemoryInfo& HostMemoryInfo();
// The one that belongs to `device`; lives as long as the process.
const OrtMemoryInfo& MemoryInfoOf(const Device& device);

}  // namespace sardonyx::capi
