// capi/allocator.cpp - the functions of OrtAllocator.
#include "capi/handles/allocator.h"

#include "capi/functions.h"
#include "capi/handles/call_out.h"
#include "capi/handles/key_value_pairs.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/status.h"
#include "capi/session.h"

namespace sardonyx::capi {

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
    const Device& device = Need(mem_info, "mem_info").device;
    if (!device.IsHost() || device.type != DeviceType::kCpu)
      Fail(Code::kInvalidArgument,
           "CreateAllocator: expected the memory info of a device that the session uses ('Cpu'), found '",
           mem_info->name, "'");
    auto& result = Need(out, "out");
    result = NewAllocator(owner.host_memory());
  });
}

void ORT_API_CALL ReleaseAllocator(OrtAllocator* input) noexcept { FreeAllocator(input); }

}  // namespace sardonyx::capi
