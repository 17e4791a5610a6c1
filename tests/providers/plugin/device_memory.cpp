// tests/providers/plugin/device_memory.cpp - the memory of the device 'card', and copies from and to it.
//
// The memory is a pool of pages without access rights: only the plug-in opens it, so a stray read or write of the
// runtime ends the process with a signal. The second library also opens that of the first.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "plugin.h"

namespace test_plugin {
namespace {

constexpr std::size_t kPoolBytes = std::size_t{64} << 20, kBlock = 4096;

struct Pool {
  Pool() {
    void* pages = mmap(nullptr, kPoolBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    base = pages != MAP_FAILED ? static_cast<char*>(pages) : nullptr;
  }
  ~Pool() {
    if (base != nullptr) munmap(base, kPoolBytes);
  }
  char* base;
  std::mutex mutex;
  std::map<std::size_t, std::size_t> used;  // offset and size of the blocks in use
  int open = 0;                             // how many may read and write it now
};

Pool& ThePool() {
  static Pool pool;
  return pool;
}

struct Allocator : OrtAllocator {
  explicit Allocator(const OrtMemoryInfo* memory) : OrtAllocator{}, info(memory) { ++counts.allocators; }
  ~Allocator() { --counts.allocators; }
  const OrtMemoryInfo* info;
};

// First fit.
void* ORT_API_CALL Alloc(OrtAllocator* /*self*/, size_t size) {
  if (OrtStatus* fault = Fault("Alloc")) {
    api->ReleaseStatus(fault);
    return nullptr;
  }
  Pool& pool = ThePool();
  const std::lock_guard lock(pool.mutex);
  const std::size_t need = (size + kBlock - 1) / kBlock * kBlock;
  std::size_t at = 0;
  for (const auto& [offset, bytes] : pool.used) {
    if (at + need <= offset) break;
    at = offset + bytes;
  }
  if (pool.base == nullptr || need == 0 || at + need > kPoolBytes) return nullptr;
  pool.used[at] = need;
  ++counts.blocks;
  return pool.base + at;
}

void* ORT_API_CALL AllocOnStream(OrtAllocator* self, size_t size, OrtSyncStream* stream) {
  if (OrtStatus* fault = Fault("AllocOnStream")) {
    api->ReleaseStatus(fault);
    return nullptr;
  }
  if (stream == nullptr || ep_api->SyncStream_GetImpl(stream) == nullptr) return nullptr;
  ++events.on_stream;
  return Alloc(self, size);
}

void* ORT_API_CALL AllocPinned(OrtAllocator* /*self*/, size_t size) {
  ++events.pinned;
  ++counts.blocks;
  return std::malloc(size);
}

void ORT_API_CALL FreePinned(OrtAllocator* /*self*/, void* data) {
  if (data != nullptr) --counts.blocks;
  std::free(data);
}

void ORT_API_CALL Free(OrtAllocator* /*self*/, void* data) {
  if (data == nullptr) return;
  Pool& pool = ThePool();
  const std::lock_guard lock(pool.mutex);
  pool.used.erase(static_cast<std::size_t>(static_cast<char*>(data) - pool.base));
  --counts.blocks;
}

const OrtMemoryInfo* ORT_API_CALL Info(const OrtAllocator* self) { return static_cast<const Allocator*>(self)->info; }

struct Transfer : OrtDataTransferImpl {
  Transfer() : OrtDataTransferImpl{} { ++counts.transfers; }
  ~Transfer() { --counts.transfers; }
};

void ORT_API_CALL ReleaseTransfer(OrtDataTransferImpl* self) { delete static_cast<Transfer*>(self); }

bool IsCardOf(const OrtMemoryDevice* device, std::uint32_t vendor) {
  return ep_api->MemoryDevice_GetVendorId(device) == vendor &&
         ep_api->MemoryDevice_GetMemoryType(device) == OrtDeviceMemoryType_DEFAULT &&
         ep_api->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_GPU;
}

bool IsCard(const OrtMemoryDevice* device) { return IsCardOf(device, kVendorId); }

bool IsFirstCard(const OrtMemoryDevice* device) { return !IsCard(device) && IsCardOf(device, kFirstVendorId); }

bool ORT_API_CALL CanCopy(const OrtDataTransferImpl* /*self*/, const OrtMemoryDevice* from, const OrtMemoryDevice* to) {
  const auto is_known = [](const OrtMemoryDevice* device) {
    return IsCard(device) || IsFirstCard(device) ||
           ep_api->MemoryDevice_GetMemoryType(device) == OrtDeviceMemoryType_HOST_ACCESSIBLE ||
           ep_api->MemoryDevice_GetDeviceType(device) == OrtMemoryInfoDeviceType_CPU;
  };
  return is_known(from) && is_known(to) && (IsCard(from) || IsCard(to));
}

// Opens (true) or closes the first library's card.
OrtStatus* OpenFirst(bool open) {
  Dl_info own{};  // the first lies beside this one
  if (dladdr(reinterpret_cast<void*>(&OpenFirst), &own) == 0) return Failure("a library without a path");
  std::string path = own.dli_fname;
  path = path.substr(0, path.rfind('/') + 1) + "libtest_provider_plugin.so";
  void* first = dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
  if (first == nullptr) return Failure("the first library is not loaded");
  const auto function = reinterpret_cast<void (*)(bool)>(dlsym(first, "TestPluginOpen"));
  if (function != nullptr) function(open);
  dlclose(first);
  return function != nullptr ? nullptr : Failure("the first library cannot be opened");
}

OrtStatus* ORT_API_CALL CopyTensors(OrtDataTransferImpl* /*self*/, const OrtValue** from, OrtValue** to,
                                    OrtSyncStream** streams, size_t count) {
  TEST_PLUGIN_TRY(Fault("CopyTensors"));
  for (std::size_t i = 0; i < count; ++i) {
    const void* source = nullptr;
    void* target = nullptr;
    std::size_t bytes = 0;
    TEST_PLUGIN_TRY(api->GetTensorData(from[i], &source));
    TEST_PLUGIN_TRY(api->GetTensorMutableData(to[i], &target));
    TEST_PLUGIN_TRY(api->GetTensorSizeInBytes(from[i], &bytes));
    if (IsCard(ep_api->Value_GetMemoryDevice(from[i])) != IsOnCard(source) ||
        IsCard(ep_api->Value_GetMemoryDevice(to[i])) != IsOnCard(target))
      return Failure("a tensor does not lie where it says");
    const bool across =
        IsFirstCard(ep_api->Value_GetMemoryDevice(from[i])) || IsFirstCard(ep_api->Value_GetMemoryDevice(to[i]));
    Do(streams != nullptr ? streams[i] : nullptr, [=] {
      const OpenDevice open;
      ++(across ? events.across : events.copies);
      if (IsOnCard(source) && IsOnCard(target)) ++events.within;
      if (across) api->ReleaseStatus(OpenFirst(true));
      if (bytes != 0) std::memcpy(target, source, bytes);
      if (across) api->ReleaseStatus(OpenFirst(false));
    });
  }
  return nullptr;
}

}  // namespace

namespace {

void Open(bool open) {
  Pool& pool = ThePool();
  const std::lock_guard lock(pool.mutex);
  const int before = pool.open;
  pool.open += open ? 1 : -1;
  if (pool.base != nullptr && (before == 0 || pool.open == 0))
    mprotect(pool.base, kPoolBytes, pool.open == 0 ? PROT_NONE : PROT_READ | PROT_WRITE);
}

}  // namespace

OpenDevice::OpenDevice() { Open(true); }
OpenDevice::~OpenDevice() { Open(false); }

bool IsOnCard(const void* data) {
  const Pool& pool = ThePool();
  return data >= pool.base && data < pool.base + kPoolBytes;
}

OrtStatus* CreateCardAllocator(const OrtMemoryInfo* info, OrtAllocator** allocator) {
  auto made = std::make_unique<Allocator>(info);
  made->version = Version();
  OrtStatus* incomplete = Fault("IncompleteAllocator");
  made->Alloc = incomplete == nullptr ? Alloc : nullptr;
  api->ReleaseStatus(incomplete);
  made->Free = Free;
  made->Info = Info;
  std::string name;
  const char* text = nullptr;
  if (api->MemoryInfoGetName(info, &text) == nullptr) name = text;
  if (name == kPinnedName) {
    made->Alloc = AllocPinned;
    made->Free = FreePinned;
  } else if (kHasPinned) {
    made->AllocOnStream = AllocOnStream;
  }
  *allocator = made.release();
  return nullptr;
}

void ReleaseCardAllocator(OrtAllocator* allocator) { delete static_cast<Allocator*>(allocator); }

OrtStatus* CreateTransfer(OrtDataTransferImpl** transfer) {
  auto made = std::make_unique<Transfer>();
  made->ort_version_supported = Version();
  made->Release = ReleaseTransfer;
  if (!IsPlanted("incomplete:", "CreateDataTransfer")) made->CanCopy = CanCopy;
  made->CopyTensors = CopyTensors;
  *transfer = made.release();
  return nullptr;
}

}  // namespace test_plugin

// For the second library.
extern "C" __attribute__((visibility("default"))) void TestPluginOpen(bool open);
void TestPluginOpen(bool open) { test_plugin::Open(open); }
