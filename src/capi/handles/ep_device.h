// capi/handles/ep_device.h - OrtHardwareDevice and OrtEpDevice: devices of this machine, and what providers use them.
#pragma once

#include <cstdint>
#include <string>

#include "capi/handles/key_value_pairs.h"
#include "capi/handles/kind.h"
#include "capi/handles/memory_info.h"
#include "onnxruntime_c_api.h"

struct OrtHardwareDevice {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kHardwareDevice> mark;
  OrtHardwareDeviceType type;
  std::uint32_t vendor_id, device_id;
  std::string vendor;
  OrtKeyValuePairs metadata;
};

// An execution provider on a device. Plug-ins make theirs while their library is registered (OrtEpApi::CreateEpDevice).
struct OrtEpDevice {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kEpDevice> mark;
  std::string ep_name, ep_vendor;
  const OrtHardwareDevice* device = nullptr;
  OrtKeyValuePairs metadata, options;
  // The kinds of memory that the provider has there, as the plug-in describes them; NULL: it has none of this kind. The
  // infos belong to the plug-in.
  const OrtMemoryInfo* memory = nullptr;
  const OrtMemoryInfo* read_only_memory = nullptr;
  const OrtMemoryInfo* host_accessible_memory = nullptr;
  OrtEpFactory* factory = nullptr;  // NULL: a provider of this library
};
