// capi/handles/memory_info.cpp - OrtMemoryInfo: a device with the names that the C interface gives it.
#include "capi/handles/memory_info.h"

#include <deque>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "base/lasting.h"

namespace sardonyx::capi {
namespace {

const char* NameOf(const Device& device) {
  switch (device.type) {
    case DeviceType::kCpu:
      return "Cpu";
    case DeviceType::kGpu:
      return "Gpu";
    case DeviceType::kNpu:
      return "Npu";
    case DeviceType::kFpga:
      return "Fpga";
  }
  return "";
}

}  // namespace

const OrtMemoryInfo& HostMemoryInfo() {
  // Never destroyed: callers read it in their own static destructors.
  static const OrtMemoryInfo* const info =
      std::make_unique<OrtMemoryInfo>(OrtMemoryInfo{{}, "Cpu", OrtDeviceAllocator, OrtMemTypeDefault, Device{}})
          .release();
  return *info;
}

const OrtMemoryInfo& MemoryInfoOf(const Device& device) {
  if (device == Device{}) return HostMemoryInfo();
  struct Seen {
    std::mutex mutex;
    std::deque<OrtMemoryInfo> infos;  // stable addresses; one entry per device ever seen
  };
  static constinit Lasting<Seen, MakeDefault<Seen>> lasting;
  Seen& seen = *lasting;
  const std::lock_guard lock(seen.mutex);
  for (const OrtMemoryInfo& info : seen.infos) {
    if (info.device == device) return info;
  }
  return seen.infos.emplace_back(OrtMemoryInfo{{}, NameOf(device), OrtDeviceAllocator, OrtMemTypeDefault, device});
}

// The C interface numbers an FPGA 2 and an NPU 3.
DeviceType FromDeviceType(OrtMemoryInfoDeviceType type) {
  switch (type) {
    case OrtMemoryInfoDeviceType_CPU:
      return DeviceType::kCpu;
    case OrtMemoryInfoDeviceType_GPU:
      return DeviceType::kGpu;
    case OrtMemoryInfoDeviceType_FPGA:
      return DeviceType::kFpga;
    case OrtMemoryInfoDeviceType_NPU:
      return DeviceType::kNpu;
  }
  Fail(Code::kInvalidArgument, "memory info: expected an OrtMemoryInfoDeviceType from 0 to 3, found ", int{type});
}

OrtMemoryInfoDeviceType ToDeviceType(DeviceType type) {
  switch (type) {
    case DeviceType::kCpu:
      return OrtMemoryInfoDeviceType_CPU;
    case DeviceType::kGpu:
      return OrtMemoryInfoDeviceType_GPU;
    case DeviceType::kNpu:
      return OrtMemoryInfoDeviceType_NPU;
    case DeviceType::kFpga:
      return OrtMemoryInfoDeviceType_FPGA;
  }
  return OrtMemoryInfoDeviceType_CPU;
}

}  // namespace sardonyx::capi
