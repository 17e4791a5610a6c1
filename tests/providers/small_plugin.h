// tests/providers/small_plugin.h - what the small plug-ins of these tests have in common: the tables of the runtime
// that has loaded them, errors, a factory with nothing of its own, and copies between a card's memory and the host's.
//
// Each plug-in is a library with hidden symbols, and so has tables of its own. Like they, it is written against the
// public header alone.
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "onnxruntime_c_api.h"

namespace small_plugin {

inline const OrtApi* api = nullptr;
inline const OrtEpApi* ep_api = nullptr;

inline void TakeTables(const OrtApiBase* base, std::uint32_t version) {
  api = base->GetApi(version);
  ep_api = api->GetEpApi();
}

struct Failure : std::exception {
  explicit Failure(OrtStatus* from) : status(from) {}
  OrtStatus* status;
};
inline void Check(OrtStatus* status) {
  if (status != nullptr) throw Failure(status);
}
[[noreturn]] inline void Fail(const std::string& text) { throw Failure(api->CreateStatus(ORT_EP_FAIL, text.c_str())); }

// Runs the body of a function that the runtime calls.
template <typename Body>
OrtStatus* Guard(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Failure& failure) {
    return failure.status;
  } catch (const std::exception& error) {
    return api->CreateStatus(ORT_EP_FAIL, error.what());
  }
}

// The value of a config entry; "" where there is none.
inline std::string EntryOf(const OrtSessionOptions* options, const std::string& key) {
  int has = 0;
  Check(api->HasSessionConfigEntry(options, key.c_str(), &has));
  if (has == 0) return "";
  std::size_t size = 0;
  Check(api->GetSessionConfigEntry(options, key.c_str(), nullptr, &size));
  std::string value(size, '\0');
  Check(api->GetSessionConfigEntry(options, key.c_str(), value.data(), &size));
  value.resize(size - 1);  // without the NUL
  return value;
}

inline std::vector<const OrtNode*> NodesOf(const OrtGraph* graph) {
  std::size_t count = 0;
  Check(api->Graph_GetNumNodes(graph, &count));
  std::vector<const OrtNode*> nodes(count);
  if (count != 0) Check(api->Graph_GetNodes(graph, nodes.data(), count));
  return nodes;
}

// Takes each node that the provider has a kernel for.
inline void TakeNodesWithKernels(const OrtGraph* graph, OrtEpGraphSupportInfo* support) {
  for (const OrtNode* node : NodesOf(graph)) {
    const OrtKernelDef* kernel = nullptr;
    Check(ep_api->EpGraphSupportInfo_LookUpKernel(support, node, &kernel));
    if (kernel != nullptr) Check(ep_api->EpGraphSupportInfo_AddSingleNode(support, node));
  }
}

// Stands on the CPU, and has no memory and no streams of its own. What it makes, and its name, is left to those who
// derive from it, and so is all that they have besides.
struct PlainFactory : OrtEpFactory {
  explicit PlainFactory(std::uint32_t version) : OrtEpFactory{} {
    ort_version_supported = version;
    GetVendor = [](const OrtEpFactory*) -> const char* { return "Sardonyx tests"; };
    GetVendorId = [](const OrtEpFactory*) -> uint32_t { return 0; };
    GetVersion = [](const OrtEpFactory*) -> const char* { return "1.0.0"; };
    GetSupportedDevices = [](OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                             OrtEpDevice** found, size_t room, size_t* found_count) -> OrtStatus* {
      return Guard([&] {
        *found_count = 0;
        for (size_t i = 0; i < count && *found_count < room; ++i)
          if (api->HardwareDevice_Type(devices[i]) == OrtHardwareDeviceType_CPU)
            Check(ep_api->CreateEpDevice(self, devices[i], nullptr, nullptr, &found[(*found_count)++]));
      });
    };
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo*, const OrtKeyValuePairs*,
                         OrtAllocator** allocator) -> OrtStatus* {
      *allocator = nullptr;
      return nullptr;
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator*) {};
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) -> OrtStatus* {
      *transfer = nullptr;
      return nullptr;
    };
    IsStreamAware = [](const OrtEpFactory*) { return false; };
  }
};

// Copies between the memory of a maker's cards and the host's. `reach` gives the address by which the plug-in itself
// reaches the bytes.
template <std::uint32_t vendor_id, void* (*reach)(const void*)>
struct CardTransfer : OrtDataTransferImpl {
  explicit CardTransfer(std::uint32_t version) : OrtDataTransferImpl{} {
    ort_version_supported = version;
    Release = [](OrtDataTransferImpl* self) { delete static_cast<CardTransfer*>(self); };
    CanCopy = [](const OrtDataTransferImpl*, const OrtMemoryDevice* from, const OrtMemoryDevice* to) {
      const auto is_own = [](const OrtMemoryDevice* device) {
        return ep_api->MemoryDevice_GetVendorId(device) == vendor_id;
      };
      const auto is_host = [](const OrtMemoryDevice* device) {
        return ep_api->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_CPU;
      };
      return (is_own(from) || is_host(from)) && (is_own(to) || is_host(to)) && (is_own(from) || is_own(to));
    };
    CopyTensors = [](OrtDataTransferImpl*, const OrtValue** from, OrtValue** to, OrtSyncStream**,
                     size_t count) -> OrtStatus* {
      return Guard([&] {
        for (size_t i = 0; i < count; ++i) {
          const void* source = nullptr;
          void* target = nullptr;
          size_t bytes = 0;
          Check(api->GetTensorData(from[i], &source));
          Check(api->GetTensorMutableData(to[i], &target));
          Check(api->GetTensorSizeInBytes(from[i], &bytes));
          if (bytes != 0) std::memcpy(reach(target), reach(source), bytes);
        }
      });
    };
  }
};

}  // namespace small_plugin

// What a runtime asks a library of providers for.
#define SMALL_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

SMALL_PLUGIN_EXPORT OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base, const OrtLogger* logger,
                                                 OrtEpFactory** factories, size_t room, size_t* count);
SMALL_PLUGIN_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory);
