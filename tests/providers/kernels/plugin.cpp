// tests/providers/kernels/plugin.cpp - the provider and its factory.
#include "plugin.h"

#include <cstring>
#include <memory>

namespace kernels {

const OrtApi* api = nullptr;
const OrtEpApi* ep_api = nullptr;
bool reaches_host = false;

namespace {

std::string Option(const OrtSessionOptions* options, const char* name) {
  const std::string key = kOptions + std::string(name);
  int has = 0;
  Check(api->HasSessionConfigEntry(options, key.c_str(), &has));
  if (has == 0) return {};
  size_t size = 0;
  Check(api->GetSessionConfigEntry(options, key.c_str(), nullptr, &size));
  std::string value(size, '\0');
  Check(api->GetSessionConfigEntry(options, key.c_str(), value.data(), &size));
  value.resize(size - 1);
  return value;
}

struct Provider : OrtEp {
  Provider(const Memories& its_memories, const std::string& memory)
      : OrtEp{}, registry(NewRegistry()), memories(its_memories) {
    ort_version_supported = kVersion;
    reaches_host = memory == "reached";
    if (memory == "pinned" || memory == "reached") {  // where its kernels find and leave their values
      GetDefaultMemoryDevice = [](const OrtEp* self, const OrtMemoryDevice** device) -> OrtStatus* {
        *device = ep_api->MemoryInfo_GetMemoryDevice(static_cast<const Provider*>(self)->memories.pinned);
        return nullptr;
      };
    }
    if (memory == "unsaid") {  // it has the function and leaves the answer to the runtime
      GetDefaultMemoryDevice = [](const OrtEp*, const OrtMemoryDevice** device) -> OrtStatus* {
        *device = nullptr;
        return nullptr;
      };
    }
    GetName = [](const OrtEp*) -> const char* { return kName; };
    GetCapability = [](OrtEp*, const OrtGraph* graph, OrtEpGraphSupportInfo* support) -> OrtStatus* {
      return Guard([&] {
        size_t count = 0;
        Check(api->Graph_GetNumNodes(graph, &count));
        std::vector<const OrtNode*> nodes(count);
        if (count != 0) Check(api->Graph_GetNodes(graph, nodes.data(), count));
        for (const OrtNode* node : nodes) {
          const OrtKernelDef* kernel = nullptr;
          Check(ep_api->EpGraphSupportInfo_LookUpKernel(support, node, &kernel));
          if (kernel != nullptr) Check(ep_api->EpGraphSupportInfo_AddSingleNode(support, node));
        }
      });
    };
    GetKernelRegistry = [](OrtEp* self, const OrtKernelRegistry** found) -> OrtStatus* {
      *found = static_cast<const Provider*>(self)->registry;
      return nullptr;
    };
  }
  ~Provider() { ep_api->ReleaseKernelRegistry(registry); }
  OrtKernelRegistry* registry;
  Memories memories;
};

struct Factory : OrtEpFactory {
  Factory() : OrtEpFactory{} {
    ort_version_supported = kVersion;
    GetName = [](const OrtEpFactory*) -> const char* { return kName; };
    GetVendor = [](const OrtEpFactory*) -> const char* { return "A maker of cards"; };
    GetVendorId = [](const OrtEpFactory*) -> uint32_t { return kVendorId; };
    GetVersion = [](const OrtEpFactory*) -> const char* { return "0.1.0"; };
    GetSupportedDevices = ListDevices;
    CreateEp = [](OrtEpFactory* self, const OrtHardwareDevice* const*, const OrtKeyValuePairs* const*, size_t,
                  const OrtSessionOptions* options, const OrtLogger*, OrtEp** provider) -> OrtStatus* {
      return Guard([&] {
        const auto& factory = *static_cast<const Factory*>(self);
        const Memories memories = {factory.card, factory.pinned};
        *provider = std::make_unique<Provider>(memories, Option(options, "memory")).release();
      });
    };
    ReleaseEp = [](OrtEpFactory*, OrtEp* provider) { delete static_cast<Provider*>(provider); };
    CreateAllocator = [](OrtEpFactory*, const OrtMemoryInfo* info, const OrtKeyValuePairs*,
                         OrtAllocator** allocator) -> OrtStatus* {
      return Guard([&] { *allocator = NewAllocator(info); });
    };
    ReleaseAllocator = [](OrtEpFactory*, OrtAllocator* allocator) { DeleteAllocator(allocator); };
    CreateDataTransfer = [](OrtEpFactory*, OrtDataTransferImpl** transfer) -> OrtStatus* {
      return Guard([&] { *transfer = NewTransfer(); });
    };
    IsStreamAware = [](const OrtEpFactory*) { return false; };
    Check(api->CreateMemoryInfo_V2(kCardName, OrtMemoryInfoDeviceType_GPU, kVendorId, 0, OrtDeviceMemoryType_DEFAULT, 0,
                                   OrtDeviceAllocator, &card));
    Check(api->CreateMemoryInfo_V2(kPinnedName, OrtMemoryInfoDeviceType_GPU, kVendorId, 0,
                                   OrtDeviceMemoryType_HOST_ACCESSIBLE, 0, OrtDeviceAllocator, &pinned));
  }
  ~Factory() {
    if (card != nullptr) api->ReleaseMemoryInfo(card);
    if (pinned != nullptr) api->ReleaseMemoryInfo(pinned);
  }

  static OrtStatus* ORT_API_CALL ListDevices(OrtEpFactory* self, const OrtHardwareDevice* const* devices, size_t count,
                                             OrtEpDevice** found, size_t room, size_t* found_count) {
    return Guard([&] {
      const auto& factory = *static_cast<const Factory*>(self);
      *found_count = 0;
      for (size_t i = 0; i < count && *found_count < room; ++i) {
        if (api->HardwareDevice_Type(devices[i]) != OrtHardwareDeviceType_CPU) continue;
        OrtEpDevice*& device = found[*found_count];
        Check(ep_api->CreateEpDevice(self, devices[i], nullptr, nullptr, &device));
        ++*found_count;
        Check(ep_api->EpDevice_AddAllocatorInfo(device, factory.card));
        Check(ep_api->EpDevice_AddAllocatorInfo(device, factory.pinned));
      }
    });
  }

  OrtMemoryInfo *card = nullptr, *pinned = nullptr;
};

}  // namespace

Memories MemoriesOf(const OrtKernelInfo* info) {
  const OrtEp* provider = nullptr;
  Check(ep_api->KernelInfo_GetEp(info, &provider));
  return static_cast<const Provider*>(provider)->memories;
}

}  // namespace kernels

#define KERNELS_EXPORT extern "C" __attribute__((visibility("default")))

KERNELS_EXPORT OrtStatus* CreateEpFactories(const char* name, const OrtApiBase* base, const OrtLogger* logger,
                                            OrtEpFactory** factories, size_t room, size_t* count);
KERNELS_EXPORT OrtStatus* ReleaseEpFactory(OrtEpFactory* factory);
KERNELS_EXPORT long KernelsCount(const char* what);
KERNELS_EXPORT const char* KernelsAnswers();

OrtStatus* CreateEpFactories(const char* /*name*/, const OrtApiBase* base, const OrtLogger* /*logger*/,
                             OrtEpFactory** factories, size_t /*room*/, size_t* count) {
  using namespace kernels;
  api = base->GetApi(kVersion);
  ep_api = api->GetEpApi();
  return Guard([&] {
    factories[0] = std::make_unique<Factory>().release();
    *count = 1;
  });
}

OrtStatus* ReleaseEpFactory(OrtEpFactory* factory) {
  delete static_cast<kernels::Factory*>(factory);
  return nullptr;
}

// How many of a kind there are or were; -1 for an unknown name.
long KernelsCount(const char* what) {
  const kernels::Counts& counts = kernels::counts;
  const std::pair<const char*, const std::atomic<long>&> kinds[] = {{"card blocks", counts.card_blocks},
                                                                    {"pinned blocks", counts.pinned_blocks},
                                                                    {"kernels", counts.kernels},
                                                                    {"card allocations", counts.card_allocations},
                                                                    {"pinned allocations", counts.pinned_allocations},
                                                                    {"computed", counts.computed},
                                                                    {"read pinned", counts.read_pinned},
                                                                    {"wrote pinned", counts.wrote_pinned},
                                                                    {"read pageable", counts.read_pageable},
                                                                    {"wrote pageable", counts.wrote_pageable}};
  for (const auto& [name, count] : kinds)
    if (std::strcmp(name, what) == 0) return count;
  return -1;
}

const char* KernelsAnswers() { return kernels::Answers(); }
