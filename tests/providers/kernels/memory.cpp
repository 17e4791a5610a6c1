// tests/providers/kernels/memory.cpp - the card's memory, host memory that the card reaches, and copies between both
// and the host.
//
// The card's memory exists twice: where the runtime knows it, nobody may touch it; the plug-in has another view of the
// same pages.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "plugin.h"

namespace kernels {

Counts counts;

namespace {

constexpr std::size_t kPoolBytes = std::size_t{16} << 20, kBlock = 256;

struct Pool {
  Pool() {
    const int file = memfd_create("card", MFD_CLOEXEC);
    if (file < 0) return;
    if (ftruncate(file, kPoolBytes) == 0) {
      void* shut = mmap(nullptr, kPoolBytes, PROT_NONE, MAP_SHARED, file, 0);
      void* open = mmap(nullptr, kPoolBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (shut != MAP_FAILED && open != MAP_FAILED) {
        base = static_cast<char*>(shut);
        view = static_cast<char*>(open);
      }
    }
    close(file);
  }
  ~Pool() {
    if (base == nullptr) return;
    munmap(base, kPoolBytes);
    munmap(view, kPoolBytes);
  }
  char *base = nullptr, *view = nullptr;
  std::mutex mutex;
  std::map<std::size_t, std::size_t> used;  // offset and size of the blocks in use
  std::map<const char*, std::size_t> pinned;
};

Pool& ThePool() {
  static Pool pool;
  return pool;
}

struct Allocator : OrtAllocator {
  Allocator(const OrtMemoryInfo* memory, bool is_pinned) : OrtAllocator{}, info(memory) {
    version = kVersion;
    Info = [](const OrtAllocator* self) { return static_cast<const Allocator*>(self)->info; };
    if (is_pinned) {
      Alloc = AllocPinned;
      Free = FreePinned;
    } else {
      Alloc = AllocOnCard;
      Free = FreeOnCard;
    }
  }

  static void* ORT_API_CALL AllocOnCard(OrtAllocator*, size_t size) {
    Pool& pool = ThePool();
    const std::lock_guard lock(pool.mutex);
    const std::size_t need = (size + kBlock - 1) / kBlock * kBlock;
    std::size_t at = 0;
    for (const auto& [offset, bytes] : pool.used) {  // first fit
      if (at + need <= offset) break;
      at = offset + bytes;
    }
    if (pool.base == nullptr || need == 0 || at + need > kPoolBytes) return nullptr;
    pool.used[at] = need;
    ++counts.card_blocks;
    ++counts.card_allocations;
    return pool.base + at;
  }
  static void ORT_API_CALL FreeOnCard(OrtAllocator*, void* data) {
    if (data == nullptr) return;
    Pool& pool = ThePool();
    const std::lock_guard lock(pool.mutex);
    pool.used.erase(static_cast<std::size_t>(static_cast<char*>(data) - pool.base));
    --counts.card_blocks;
  }
  static void* ORT_API_CALL AllocPinned(OrtAllocator*, size_t size) {
    auto* data = static_cast<char*>(std::malloc(size));
    const std::lock_guard lock(ThePool().mutex);
    ThePool().pinned[data] = size;
    ++counts.pinned_blocks;
    ++counts.pinned_allocations;
    return data;
  }
  static void ORT_API_CALL FreePinned(OrtAllocator*, void* data) {
    if (data == nullptr) return;
    {
      const std::lock_guard lock(ThePool().mutex);
      ThePool().pinned.erase(static_cast<const char*>(data));
    }
    --counts.pinned_blocks;
    std::free(data);
  }

  const OrtMemoryInfo* info;
};

using Transfer = CardTransfer<kVendorId, Reach>;

}  // namespace

bool IsOnCard(const void* data) {
  const Pool& pool = ThePool();
  return data >= pool.base && data < pool.base + kPoolBytes;
}

bool IsPinned(const void* data) {
  Pool& pool = ThePool();
  const std::lock_guard lock(pool.mutex);
  const auto* at = static_cast<const char*>(data);
  const auto after = pool.pinned.upper_bound(at);
  if (after == pool.pinned.begin()) return false;
  const auto& [begin, size] = *std::prev(after);
  return at < begin + size;
}

void* Reach(const void* data) {
  auto* at = static_cast<char*>(const_cast<void*>(data));
  const Pool& pool = ThePool();
  return IsOnCard(data) ? pool.view + (at - pool.base) : at;
}

OrtAllocator* NewAllocator(const OrtMemoryInfo* info) {
  const char* name = "";
  Check(api->MemoryInfoGetName(info, &name));
  return new Allocator(info, std::string(name) == kPinnedName);
}

void DeleteAllocator(OrtAllocator* allocator) { delete static_cast<Allocator*>(allocator); }

OrtDataTransferImpl* NewTransfer() { return new Transfer(kVersion); }

}  // namespace kernels
