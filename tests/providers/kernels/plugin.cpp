// tests/providers/kernels/plugin.cpp - the provider and its factory.
#include "plugin.h"

#include <cstring>
#include <memory>

namespace kernels {

bool reaches_host = false;

namespace {

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
      return Guard([&] { TakeNodesWithKernels(graph, support); });
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

struct Factory : PlainFactory {
  Factory() : PlainFactory(kVersion) {
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
        *provider = std::make_unique<Provider>(memories, EntryOf(options, std::string(kOptions) + "memory")).release();
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

SMALL_PLUGIN_EXPORT long KernelsCount(const char* what);
SMALL_PLUGIN_EXPORT const char* KernelsAnswers();

OrtStatus* CreateEpFactories(const char* /*name*/, const OrtApiBase* base, const OrtLogger* /*logger*/,
                             OrtEpFactory** factories, size_t /*room*/, size_t* count) {
  using namespace kernels;
  TakeTables(base, kVersion);
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
