// tensor/device.h - the device, and the kind of memory, that bytes lie in.
#pragma once

#include <cstdint>

namespace sardonyx {

enum class DeviceType : std::uint8_t { kCpu = 0, kGpu = 1, kNpu = 2, kFpga = 3 };
enum class MemoryKind : std::uint8_t { kDefault = 0, kHostAccessible = 5 };

struct Device {
  DeviceType type = DeviceType::kCpu;
  std::uint32_t vendor = 0;
  std::int32_t id = 0;
  MemoryKind memory = MemoryKind::kDefault;
  std::uint32_t alignment = 64;
  bool operator==(const Device&) const = default;
  bool IsHost() const { return type == DeviceType::kCpu || memory == MemoryKind::kHostAccessible; }
};

}  // namespace sardonyx
