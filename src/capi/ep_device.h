// capi/ep_device.h - the devices that execution providers can use, as the C interface lists them.
#pragma once

#include <cstdint>
#include <string>

#include "capi/handles/key_value_pairs.h"
#include "onnxruntime_c_api.h"

struct OrtHardwareDevice {
  OrtHardwareDeviceType type;
  std::uint32_t vendor_id, device_id;
  std::string vendor;
  OrtKeyValuePairs metadata;
};

// An execution provider on a device.
struct OrtEpDevice {
  std::string ep_name, ep_vendor;
  const OrtHardwareDevice* device;
  OrtKeyValuePairs metadata, options;
  const OrtMemoryInfo* memory_info;
};

namespace sardonyx::capi {

// Our CPU provider on this machine's CPU; lives as long as the process.
const OrtEpDevice& CpuEpDevice();

}  // namespace sardonyx::capi
