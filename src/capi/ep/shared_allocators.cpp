// capi/ep/shared_allocators.cpp - the allocators of devices that the environment lends to its callers.
#include "providers/plugin/shared_allocators.h"

#include "capi/env.h"
#include "capi/functions.h"
#include "capi/handles/allocator.h"
#include "capi/handles/ep_device.h"
#include "capi/handles/status.h"

namespace sardonyx::capi {
namespace {

const OrtMemoryInfo* MemoryOf(const OrtEpDevice& device, OrtDeviceMemoryType type, OrtAllocatorType allocator) {
  if (type == OrtDeviceMemoryType_HOST_ACCESSIBLE) return device.host_accessible_memory;
  return allocator == OrtReadOnlyAllocator ? device.read_only_memory : device.memory;
}

// The memory of one of the devices that are registered.
struct Memory {
  plugin::Libraries::Place place;
  const OrtMemoryInfo* info = nullptr;
};

Memory NeedMemory(const OrtEnv& env, const OrtEpDevice* ep_device, OrtDeviceMemoryType type,
                  OrtAllocatorType allocator) {
  const OrtEpDevice& device = Need(ep_device, "ep_device");
  Memory memory{env.libraries.Find(&device)};
  if (memory.place.factory == nullptr)
    Fail(Code::kInvalidArgument, "shared allocator: expected a device of a registered provider library, found another");
  memory.info = MemoryOf(device, type, allocator);
  if (memory.info == nullptr)
    Fail(Code::kInvalidArgument, "shared allocator: the provider '", device.ep_name, "' has no ",
         type == OrtDeviceMemoryType_HOST_ACCESSIBLE ? "host-accessible memory" : "memory of its own", " there");
  return memory;
}

}  // namespace

OrtStatusPtr ORT_API_CALL CreateSharedAllocator(OrtEnv* env, const OrtEpDevice* ep_device, OrtDeviceMemoryType mem_type,
                                                OrtAllocatorType allocator_type,
                                                const OrtKeyValuePairs* allocator_options,
                                                OrtAllocator** allocator) noexcept {
  return Guard([&] {
    OrtEnv& target = Need(env, "env");
    const Memory memory = NeedMemory(target, ep_device, mem_type, allocator_type);
    OrtAllocator* made =
        target.shared_allocators.Create(memory.place.library, *memory.place.factory, *memory.info, allocator_options);
    if (allocator != nullptr) *allocator = made;
  });
}

// NULL if nothing has memory of this kind.
OrtStatusPtr ORT_API_CALL GetSharedAllocator(OrtEnv* env, const OrtMemoryInfo* mem_info,
                                             OrtAllocator** allocator) noexcept {
  return Guard([&] {
    OrtEnv& target = Need(env, "env");
    const OrtMemoryInfo& wanted = Need(mem_info, "mem_info");
    auto& result = Need(allocator, "allocator");
    result = wanted.device == Device{} ? DefaultAllocator() : nullptr;
    if (result != nullptr) return;
    const plugin::Libraries::Held held = target.libraries.Hold();
    for (const OrtEpDevice* device : held.devices) {
      for (const OrtMemoryInfo* info : {device->memory, device->host_accessible_memory, device->read_only_memory}) {
        if (info == nullptr || info->device != wanted.device || info->allocator_type != wanted.allocator_type) continue;
        const plugin::Libraries::Place place = target.libraries.Find(device);
        if (place.factory == nullptr) continue;
        result = target.shared_allocators.Get(place.library, *place.factory, *info);
        return;
      }
    }
  });
}

OrtStatusPtr ORT_API_CALL ReleaseSharedAllocator(OrtEnv* env, const OrtEpDevice* ep_device,
                                                 OrtDeviceMemoryType mem_type) noexcept {
  return Guard([&] {
    OrtEnv& target = Need(env, "env");
    target.shared_allocators.Release(*NeedMemory(target, ep_device, mem_type, OrtDeviceAllocator).info);
  });
}

}  // namespace sardonyx::capi
