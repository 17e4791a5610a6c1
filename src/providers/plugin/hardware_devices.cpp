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
#include <utility>
#include <vector>

#include "base/cpu_info.h"
#include "base/lasting.h"

namespace sardonyx::plugin {
namespace {

constexpr std::uint32_t kIntel = 0x8086, kAmdCpu = 0x1022, kNvidia = 0x10de;

struct Vendor {
  std::uint32_t id;
  const char* name;
};
constexpr Vendor kVendors[] = {
    // of PCI devices
    {kIntel, "Intel"},   {0x1002, "AMD"},      {kAmdCpu, "AMD"},
    {kNvidia, "NVIDIA"}, {0x5143, "Qualcomm"}, {0x1414, "Microsoft"},
};

const char* VendorName(std::uint32_t id) {
  for (const Vendor& vendor : kVendors)
    if (vendor.id == id) return vendor.name;
  return "";
}

OrtHardwareDevice DescribeCpu() {
  const std::string_view vendor = Cpu().vendor;
  if (vendor == "GenuineIntel") return {{}, OrtHardwareDeviceType_CPU, kIntel, 0, "Intel", {}};
  if (vendor == "AuthenticAMD") return {{}, OrtHardwareDeviceType_CPU, kAmdCpu, 0, "AMD", {}};
  return {{}, OrtHardwareDeviceType_CPU, 0, 0, std::string(vendor), {}};
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

// What the folder of a device says; nothing for a device that does not say what it is.
void AddDevice(const std::filesystem::path& device, OrtHardwareDeviceType type, OrtKeyValuePairs::Entries metadata,
               std::deque<OrtHardwareDevice>& devices) {
  std::uint32_t vendor = 0, id = 0;
  if (!ReadNumber(device / "vendor", vendor) || !ReadNumber(device / "device", id)) return;
  std::error_code error;
  const std::filesystem::path bus = std::filesystem::canonical(device, error);
  if (!error && bus.filename().string().find(':') != std::string::npos)
    metadata.emplace("pci_bus_id", bus.filename().string());
  if (type == OrtHardwareDeviceType_GPU && vendor == kNvidia) metadata.emplace("Discrete", "1");  // memory of its own
  devices.push_back({{}, type, vendor, id, VendorName(vendor), OrtKeyValuePairs(std::move(metadata))});
}

std::vector<std::string> NamesIn(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(folder, error); !error && it != std::filesystem::end(it);
       it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

void AddFolder(const std::filesystem::path& folder, std::string_view prefix, OrtHardwareDeviceType type,
               const char* index_key, std::deque<OrtHardwareDevice>& devices) {
  std::vector<int> numbers;
  for (const std::string& name : NamesIn(folder))
    if (const int number = NumberOf(name, prefix); number >= 0) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  for (const int number : numbers) {
    AddDevice(folder / (std::string(prefix) + std::to_string(number)) / "device", type,
              {{index_key, std::to_string(number)}}, devices);
  }
}

// In a container there may be GPUs without a driver for screens: controllers of screens (class 03) that are VGA
// compatible (00) or only compute in three dimensions (02).
void AddBus(const std::filesystem::path& folder, std::deque<OrtHardwareDevice>& devices) {
  constexpr std::uint32_t kVga = 0x0300, k3d = 0x0302;
  for (const std::string& name : NamesIn(folder)) {
    std::uint32_t kind = 0;
    if (!ReadNumber(folder / name / "class", kind) || (kind >> 8 != kVga && kind >> 8 != k3d)) continue;
    AddDevice(folder / name, OrtHardwareDeviceType_GPU, {}, devices);
  }
}

}  // namespace

std::deque<OrtHardwareDevice> DevicesOfSystem(const std::filesystem::path& sys) {
  std::deque<OrtHardwareDevice> devices;
  AddFolder(sys / "class/drm", "card", OrtHardwareDeviceType_GPU, "card_idx", devices);
  if (devices.empty()) AddBus(sys / "bus/pci/devices", devices);
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
  // Lasting: callers read it in their own static destructors.
  static constinit Lasting<Found, MakeDefault<Found>> found;
  return (*found).pointers;
}

}  // namespace sardonyx::plugin
