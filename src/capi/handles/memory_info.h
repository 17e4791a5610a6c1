// capi/handles/memory_info.h - OrtMemoryInfo: a device with the names that the C interface gives it.
#pragma once

#include <string>

#include "capi/handles/kind.h"
#include "onnxruntime_c_api.h"
#include "tensor/device.h"

struct OrtMemoryInfo {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kMemoryInfo> mark;
  std::string name;
  OrtAllocatorType allocator_type = OrtDeviceAllocator;
  OrtMemType mem_type = OrtMemTypeDefault;
  sardonyx::Device device;

  bool operator==(const OrtMemoryInfo&) const = default;
};

namespace sardonyx::capi {

// An Allocator whose memory has names of its maker's, who may also count what it hands out.
class NamedMemory {
 public:
  virtual const OrtMemoryInfo& info() const = 0;
  virtual OrtKeyValuePairs* TheirStatistics() const = 0;  // the caller's; NULL: its maker does not count

 protected:
  ~NamedMemory() = default;
};

// What a plug-in sees of it is the device alone: an OrtMemoryDevice is a sardonyx::Device.
inline const Device& DeviceOf(const OrtMemoryDevice& device) { return reinterpret_cast<const Device&>(device); }
inline const OrtMemoryDevice* AsHandle(const Device* device) {
  return reinterpret_cast<const OrtMemoryDevice*>(device);
}

OrtMemoryInfoDeviceType ToDeviceType(DeviceType type);
// Fails with kInvalidArgument for what is no OrtMemoryInfoDeviceType.
DeviceType FromDeviceType(OrtMemoryInfoDeviceType type);

// The memory info of host memory: "Cpu", device 0, OrtDeviceAllocator, OrtMemTypeDefault.
const OrtMemoryInfo& HostMemoryInfo();
// The one that belongs to `device`; lives as long as the process.
const OrtMemoryInfo& MemoryInfoOf(const Device& device);

}  // namespace sardonyx::capi
