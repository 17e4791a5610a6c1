// capi/handles/allocator.cpp - presents our allocators as OrtAllocator, and the caller's OrtAllocator as one of ours.
#include "capi/handles/allocator.h"

#include <cstring>

#include "base/error.h"
#include "capi/handles/call_out.h"
#include "capi/handles/key_value_pairs.h"
#include "capi/handles/memory_info.h"
#include "capi/handles/status.h"
#include "tensor/stream.h"

namespace sardonyx::capi {
namespace {

struct OwnAllocator : OrtAllocator {
  explicit OwnAllocator(std::shared_ptr<Allocator> inner);
  std::shared_ptr<Allocator> allocator;  // shared: blocks in use keep it alive, as every Buffer does
  const NamedMemory* named;              // the same; null: it has the device's general names
};

void* ORT_API_CALL Alloc(OrtAllocator* self, std::size_t size) {
  void* block = nullptr;
  const StreamScope none(nullptr);  // nobody knows how long the caller keeps it: longer than a stream, perhaps
  FreeStatus(Guard([&] { block = static_cast<OwnAllocator*>(self)->allocator->Allocate(size); }));
  return block;
}

void ORT_API_CALL Free(OrtAllocator* self, void* block) {
  FreeStatus(Guard([&] {
    if (block != nullptr) static_cast<OwnAllocator*>(self)->allocator->Free(block);
  }));
}

const OrtMemoryInfo* ORT_API_CALL Info(const OrtAllocator* self) {
  const auto* own = static_cast<const OwnAllocator*>(self);
  if (own->named != nullptr) return &own->named->info();
  const OrtMemoryInfo* info = &HostMemoryInfo();
  FreeStatus(Guard([&] { info = &MemoryInfoOf(own->allocator->device()); }));
  return info;
}

void* ORT_API_CALL Reserve(OrtAllocator* self, std::size_t size) {
  void* block = nullptr;
  FreeStatus(Guard([&] { block = static_cast<OwnAllocator*>(self)->allocator->Reserve(size); }));
  return block;
}

// By ONNX Runtime's names; nothing of an allocator that does not count.
OrtStatusPtr ORT_API_CALL GetStats(const OrtAllocator* self, OrtKeyValuePairs** out) {
  return Guard([&] {
    auto& result = Need(out, "out") = nullptr;
    const auto* own = static_cast<const OwnAllocator*>(self);
    if (own->named != nullptr) result = own->named->TheirStatistics();
    if (result != nullptr) return;
    OrtKeyValuePairs::Entries entries;
    if (const auto counted = own->allocator->Statistics()) {
      const auto add = [&](const char* key, auto number) {
        entries[key] = std::to_string(static_cast<std::int64_t>(number));
      };
      add("Limit", counted->limit);
      add("InUse", counted->in_use);
      add("RequestedInUse", counted->requested_in_use);
      add("TotalAllocated", counted->held);
      add("MaxInUse", counted->max_in_use);
      add("NumAllocs", counted->allocations);
      add("NumReserves", counted->reservations);
      add("NumArenaExtensions", counted->extensions);
      add("NumArenaShrinkages", counted->shrinkages);
      add("MaxAllocSize", counted->largest_block);
    }
    result = std::make_unique<OrtKeyValuePairs>(std::move(entries)).release();
  });
}

OwnAllocator::OwnAllocator(std::shared_ptr<Allocator> inner)
    : OrtAllocator{}, allocator(std::move(inner)), named(dynamic_cast<const NamedMemory*>(allocator.get())) {
  version = ORT_API_VERSION;
  OrtAllocator::Alloc = capi::Alloc;
  OrtAllocator::Free = capi::Free;
  OrtAllocator::Info = capi::Info;
  OrtAllocator::Reserve = capi::Reserve;
  OrtAllocator::GetStats = capi::GetStats;
}

bool IsOurs(const OrtAllocator* handle) { return handle->Alloc == Alloc; }

class UserAllocator final : public Allocator {
 public:
  explicit UserAllocator(OrtAllocator* handle) : handle_(handle) {
    const OrtMemoryInfo* info = handle->Info != nullptr
                                    ? CallOut<Code::kRuntimeException>("OrtAllocator::Info", handle->Info, handle)
                                    : nullptr;
    if (info != nullptr) device_ = info->device;
  }
  void* Allocate(std::size_t size) override { return size != 0 ? AllocateResult(handle_, size) : nullptr; }
  // Buffers are freed in destructors: there is no one to tell what the caller's function throws.
  void Free(void* data) override {
    FreeStatus(Guard([&] { CallOut("OrtAllocator::Free", handle_->Free, handle_, data); }));
  }
  Device device() const override { return device_; }

 private:
  OrtAllocator* handle_;
  Device device_;
};

}  // namespace

OrtAllocator* DefaultAllocator() {
  // Never destroyed: callers free blocks in their own static destructors.
  static OwnAllocator* const allocator = std::make_unique<OwnAllocator>(HostAllocator()).release();
  return allocator;
}

OrtAllocator* NewAllocator(std::shared_ptr<Allocator> allocator) {
  return std::make_unique<OwnAllocator>(std::move(allocator)).release();
}

void FreeAllocator(OrtAllocator* allocator) noexcept {
  if (allocator == nullptr || !IsOurs(allocator) || allocator == DefaultAllocator()) return;
  std::unique_ptr<OwnAllocator> owned(static_cast<OwnAllocator*>(allocator));
}

std::shared_ptr<Allocator> FromHandle(OrtAllocator* handle) {
  if (IsOurs(handle)) return static_cast<OwnAllocator*>(handle)->allocator;
  if (handle->Alloc == nullptr || handle->Free == nullptr)
    Fail(Code::kInvalidArgument, "allocator: expected functions Alloc and Free, found NULL");
  return std::make_shared<UserAllocator>(handle);
}

void* AllocateResult(OrtAllocator* allocator, std::size_t size) {
  if (IsOurs(&Need(allocator, "allocator"))) {  // not by its function, which has no status: the error says more
    const StreamScope none(nullptr);
    return static_cast<OwnAllocator*>(allocator)->allocator->Allocate(size);
  }
  void* block = CallOut<Code::kRuntimeException>("OrtAllocator::Alloc", allocator->Alloc, allocator, size);
  if (block == nullptr && size != 0)
    Fail(Code::kFail, "out of memory: the caller's allocator returned NULL for ", size, " bytes");
  return block;
}

char* CopyText(OrtAllocator* allocator, std::string_view text) {
  char* copy = static_cast<char*>(AllocateResult(allocator, text.size() + 1));
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

}  // namespace sardonyx::capi
