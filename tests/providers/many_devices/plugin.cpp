// tests/providers/many_devices/plugin.cpp - a library with providers for devices that do not exist, to be chosen from.
//
// The environment variable SDX_DEVICES says which: "Name VENDOR TYPE VENDOR DEVICE [Discrete]", one line for each
// device: the provider's name and its maker's number, cpu, gpu or npu, the device's maker, the device. Devices of the
// real CPU have the number 0. Each call of CreateEp is written to the file SDX_CHOSEN: the provider's name and its
// devices. To the file SDX_HARDWARE it writes which devices the machine is said to have.
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "../small_plugin.h"

namespace many_devices {
namespace {

using namespace small_plugin;

struct Row {
  std::string type;
  std::uint32_t vendor = 0, device = 0;
  std::string kind;  // "Discrete" or nothing
};

// A line for each device of the machine: type, maker, number, maker's name, and what is known besides.
void WriteHardware(const char* file, const OrtHardwareDevice* const* devices, size_t count) {
  std::ofstream lines(file);
  for (size_t i = 0; i < count; ++i) {
    lines << api->HardwareDevice_Type(devices[i]) << ' ' << std::hex << api->HardwareDevice_VendorId(devices[i]) << ' '
          << api->HardwareDevice_DeviceId(devices[i]) << std::dec << " '" << api->HardwareDevice_Vendor(devices[i])
          << "'";
    const char *const *keys = nullptr, *const *values = nullptr;
    size_t entries = 0;
    api->GetKeyValuePairs(api->HardwareDevice_Metadata(devices[i]), &keys, &values, &entries);
    std::map<std::string, std::string> sorted;
    for (size_t k = 0; k < entries; ++k) sorted[keys[k]] = values[k];
    for (const auto& [key, value] : sorted) lines << ' ' << key << '=' << value;
    lines << '\n';
  }
}

struct Provider : OrtEp {
  explicit Provider(std::string with_name) : OrtEp{}, name(std::move(with_name)) {
    ort_version_supported = ORT_API_VERSION;
    GetName = [](const OrtEp* self) { return static_cast<const Provider*>(self)->name.c_str(); };
    GetCapability = [](OrtEp*, const OrtGraph*, OrtEpGraphSupportInfo*) -> OrtStatus* { return nullptr; };
    Compile = [](OrtEp*, const OrtGraph**, const OrtNode**, size_t, OrtNodeComputeInfo**, OrtNode**) {
      return api->CreateStatus(ORT_NOT_IMPLEMENTED, "this provider takes nothing");
    };
    ReleaseNodeComputeInfos = [](OrtEp*, OrtNodeComputeInfo**, size_t) {};
  }
  std::string name;
};

struct Factory : PlainFactory {
  Factory(std::string with_name, std::uint32_t with_vendor)
      : PlainFactory(ORT_API_VERSION), name(std::move(with_name)), vendor(with_vendor) {
    GetName = [](const OrtEpFactory* self) { return static_cast<const Factory*>(self)->name.c_str(); };
    GetVendor = [](const OrtEpFactory*) -> const char* { return "Maker"; };
    GetVendorId = [](const OrtEpFactory* self) { return static_cast<const Factory*>(self)->vendor; };
    GetSupportedDevices = ListDevices;
    CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, const OrtKeyValuePairs* const*,
                  size_t count, const OrtSessionOptions*, const OrtLogger*, OrtEp** provider) -> OrtStatus* {
      const std::string& own_name = static_cast<const Factory*>(self)->name;
      if (const char* file = std::getenv("SDX_CHOSEN")) {
        std::ofstream chosen(file, std::ios::app);
        chosen << own_name;
        for (size_t i = 0; i < count; ++i) chosen << ' ' << api->HardwareDevice_DeviceId(devices[i]);
        chosen << '\n';
      }
      *provider = std::make_unique<Provider>(own_name).release();
      return nullptr;
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* provider) { delete static_cast<Provider*>(provider); };
  }
  ~Factory() {
    for (OrtHardwareDevice* device : made) ep_api->ReleaseHardwareDevice(device);
  }

  static OrtStatus* ORT_API_CALL ListDevices(OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                                             OrtEpDevice** found, size_t room, size_t* found_count) {
    auto& factory = *static_cast<Factory*>(self);
    *found_count = 0;
    if (const char* file = std::getenv("SDX_HARDWARE")) WriteHardware(file, devices, count);
    for (const Row& row : factory.rows) {
      if (*found_count == room) return api->CreateStatus(ORT_EP_FAIL, "no room for devices");
      const OrtHardwareDevice* device = nullptr;
      for (size_t i = 0; i < count && row.type == "cpu" && row.device == 0; ++i)
        if (api->HardwareDevice_Type(devices[i]) == OrtHardwareDeviceType_CPU) device = devices[i];
      if (device == nullptr)
        if (OrtStatus* status = factory.Make(row, device)) return status;
      OrtStatus* status = ep_api->CreateEpDevice(self, device, nullptr, nullptr, &found[*found_count]);
      if (status != nullptr) return status;
      ++*found_count;
    }
    return nullptr;
  }

  OrtStatus* Make(const Row& row, const OrtHardwareDevice*& device) {
    OrtKeyValuePairs* metadata = nullptr;
    api->CreateKeyValuePairs(&metadata);
    if (row.kind == "Discrete") api->AddKeyValuePair(metadata, "Discrete", "1");
    OrtHardwareDevice* one = nullptr;
    OrtStatus* status = ep_api->CreateHardwareDevice(row.type == "gpu"   ? OrtHardwareDeviceType_GPU
                                                     : row.type == "npu" ? OrtHardwareDeviceType_NPU
                                                                         : OrtHardwareDeviceType_CPU,
                                                     row.vendor, row.device, "Maker", metadata, &one);
    api->ReleaseKeyValuePairs(metadata);
    if (status == nullptr) made.push_back(one);
    device = one;
    return status;
  }

  std::string name;
  std::uint32_t vendor;
  std::vector<Row> rows;
  std::vector<OrtHardwareDevice*> made;
};

}  // namespace
}  // namespace many_devices

OrtStatus* CreateEpFactories(const char* /*name*/, const OrtApiBase* base, const OrtLogger* /*logger*/,
                             OrtEpFactory** factories, size_t room, size_t* count) {
  using namespace many_devices;
  TakeTables(base, ORT_API_VERSION);
  *count = 0;
  const char* text = std::getenv("SDX_DEVICES");
  std::istringstream lines(text != nullptr ? text : "");
  std::vector<std::unique_ptr<Factory>> made;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::uint32_t vendor = 0;
    Row row;
    if (!(words >> name >> std::hex >> vendor >> row.type >> row.vendor >> std::dec >> row.device))
      return api->CreateStatus(ORT_INVALID_ARGUMENT, ("SDX_DEVICES: not a device: " + line).c_str());
    words >> row.kind;
    if (made.empty() || made.back()->name != name) made.push_back(std::make_unique<Factory>(name, vendor));
    made.back()->rows.push_back(row);
  }
  if (made.size() > room) return api->CreateStatus(ORT_EP_FAIL, "no room for factories");
  for (auto& factory : made) factories[(*count)++] = factory.release();
  return nullptr;
}

OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<many_devices::Factory*>(factory);
  return nullptr;
}
