// capi/allocator.cpp - the functions of OrtAllocator.
#include "capi/handles/allocator.h"

#include <memory>
#include <utility>

#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/key_value_pairs.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/status.h"
#include "capi/session.h"
#include "providers/plugin/plugin_provider.h"
#include "providers/provider.h"

namespace sardonyx::capi {
namespace {

// What a session allocates its values on `device` with; null if it uses no such device.
std::shared_ptr<Allocator> MemoryOf(const runtime::Session& session, const Device& device) {
  const bool ordinary = device.type == DeviceType::kCpu && device.memory == MemoryKind::kDefault;
  if (ordinary) return session.host_memory();
  for (const auto& provider : session.providers().providers) {
    if (provider->device() == device) return provider->allocator();
    const auto* plugin = dynamic_cast<const plugin::PluginProvider*>(provider.get());
    if (plugin == nullptr || plugin->host_accessible_memory() == nullptr) continue;
    if (plugin->host_accessible_memory()->device() == device) return plugin->host_accessible_memory();
  }
  return device.type == DeviceType::kCpu ? session.host_memory() : nullptr;
}

}  // namespace

OrtStatusPtr ORT_API_CALL AllocatorAlloc(OrtAllocator* ort_allocator, size_t size, void** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    result = AllocateResult(&Need(ort_allocator, "ort_allocator"), size);
  });
}

OrtStatusPtr ORT_API_CALL AllocatorFree(OrtAllocator* ort_allocator, void* p) noexcept {
  return Guard([&] {
    Need(ort_allocator, "ort_allocator");
    CallOut<Code::kRuntimeException>("OrtAllocator::Free", ort_allocator->Free, ort_allocator, p);
  });
}

OrtStatusPtr ORT_API_CALL AllocatorGetInfo(const OrtAllocator* ort_allocator,
                                           const struct OrtMemoryInfo** out) noexcept {
  return Guard([&] {
    auto& result = Need(out, "out");
    Need(ort_allocator, "ort_allocator");
    result = CallOut<Code::kRuntimeException>("OrtAllocator::Info", ort_allocator->Info, ort_allocator);
  });
}

OrtStatusPtr ORT_API_CALL AllocatorGetStats(const OrtAllocator* ort_allocator, OrtKeyValuePairs** out) noexcept {
  return Guard([&] {
    const OrtAllocator& allocator = Need(ort_allocator, "ort_allocator");
    constexpr std::uint32_t kFirstVersionWithStats = 23;
    if (allocator.version >= kFirstVersionWithStats && allocator.GetStats != nullptr) {
      CallOut<Code::kRuntimeException>("OrtAllocator::GetStats", allocator.GetStats, ort_allocator, out);
    } else {
      auto& result = Need(out, "out");
      result = std::make_unique<OrtKeyValuePairs>().release();
    }
  });
}

OrtStatusPtr ORT_API_CALL GetAllocatorWithDefaultOptions(OrtAllocator** out) noexcept {
  return Guard([&] { Need(out, "out") = DefaultAllocator(); });
}

OrtStatusPtr ORT_API_CALL CreateAllocator(const OrtSession* session, const OrtMemoryInfo* mem_info,
                                          OrtAllocator** out) noexcept {
  return Guard([&] {
    const runtime::Session& owner = BuiltSession(session);
    const OrtMemoryInfo& info = Need(mem_info, "mem_info");
    std::shared_ptr<Allocator> memory = MemoryOf(owner, info.device);
    if (memory == nullptr)
      Fail(Code::kInvalidArgument,
           "CreateAllocator: expected the memory info of a device that the session uses ('Cpu', or that of one of its ",
           "providers), found '", info.name, "'");
    auto& result = Need(out, "out");
    result = NewAllocator(std::move(memory));
  });
}

void ORT_API_CALL ReleaseAllocator(OrtAllocator* input) noexcept { FreeAllocator(input); }

}  // namespace sardonyx::capi
