// providers/plugin/hardware_devices.cpp - finds the devices of this machine in the kernel's tree of devices.
#include "providers/plugin/hardware_devices.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/cpu_info.h"

namespace sardonyx::plugin {
namespace {

constexpr std::uint32_t kIntel = 0x8086, kAmdCpu = 0x1022;

struct Vendor {
  std::uint32_t id;
  const char* name;
};
constexpr Vendor kVendors[] = {
    // of PCI devices
    {kIntel, "Intel"},  {0x1002, "AMD"},      {kAmdCpu, "AMD"},
    {0x10de, "NVIDIA"}, {0x5143, "Qualcomm"}, {0x1414, "Microsoft"},
};

const char* VendorName(std::uint32_t id) {
  for (const Vendor& vendor : kVendors)
    if (vendor.id == id) return vendor.name;
  return "";
}

OrtHardwareDevice DescribeCpu() {
  const std::string_view vendor = Cpu().vendor;
  if (vendor == "GenuineIntel") return {OrtHardwareDeviceType_CPU, kIntel, 0, "Intel", {}};
  if (vendor == "AuthenticAMD") return {OrtHardwareDeviceType_CPU, kAmdCpu, 0, "AMD", {}};
  return {OrtHardwareDeviceType_CPU, 0, 0, std::string(vendor), {}};
}

// A file with one number such as "0x10de"; false if there is none.
bool ReadNumber(const std::filesystem::path& file, std::uint32_t& number) {
  std::string text;
  if (!(std::ifstream(file) >> text)) return false;
  const bool hex = text.starts_with("0x");
  const char* begin = text.data() + (hex ? 2 : 0);
  return std::from_chars(begin, text.data() + text.size(), number, hex ? 16 : 10).ec == std::errc();
}

// "card12" with the prefix "card" is 12; -1 for other names ("card0-HDMI-A-1" is an output of card 0).
int NumberOf(const std::string& name, std::string_view prefix) {
  int number = -1;
  if (!name.starts_with(prefix) || name.size() == prefix.size()) return -1;
  const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : -1;
}

void AddFolder(const std::filesystem::path& folder, std::string_view prefix, OrtHardwareDeviceType type,
               const char* index_key, std::deque<OrtHardwareDevice>& devices) {
  std::vector<int> numbers;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(folder, error); !error && it != std::filesystem::end(it);
       it.increment(error)) {
    const int number = NumberOf(it->path().filename().string(), prefix);
    if (number >= 0) numbers.push_back(number);
  }
  std::sort(numbers.begin(), numbers.end());
  for (const int number : numbers) {
    const std::filesystem::path device = folder / (std::string(prefix) + std::to_string(number)) / "device";
    std::uint32_t vendor = 0, id = 0;
    if (!ReadNumber(device / "vendor", vendor) || !ReadNumber(device / "device", id)) continue;
    OrtKeyValuePairs::Entries metadata{{index_key, std::to_string(number)}};
    const std::filesystem::path bus = std::filesystem::canonical(device, error);
    if (!error && bus.filename().string().find(':') != std::string::npos)
      metadata.emplace("pci_bus_id", bus.filename().string());
    devices.push_back({type, vendor, id, VendorName(vendor), OrtKeyValuePairs(std::move(metadata))});
  }
}

}  // namespace

std::deque<OrtHardwareDevice> DevicesOfSystem(const std::filesystem::path& sys) {
  std::deque<OrtHardwareDevice> devices;
  AddFolder(sys / "class/drm", "card", OrtHardwareDeviceType_GPU, "card_idx", devices);
  AddFolder(sys / "class/accel", "accel", OrtHardwareDeviceType_NPU, "accel_idx", devices);
  return devices;
}

std::span<const OrtHardwareDevice* const> HardwareDevices() {
  struct Found {
    std::deque<OrtHardwareDevice> devices = DevicesOfSystem("/sys");
    std::vector<const OrtHardwareDevice*> pointers;
    Found() {
      devices.push_front(DescribeCpu());
      for (const OrtHardwareDevice& device : devices) pointers.push_back(&device);
    }
  };
  // Never destroyed: callers read it in their own static destructors.
  static const Found* const found = std::make_unique<Found>().release();
  return found->pointers;
}

}  // namespace sardonyx::plugin
