// tensor/allocator.cpp - the host allocators.
#include "tensor/allocator.h"

#include <cstdlib>
#include <limits>

#include "base/error.h"
#include "base/memory/page_blocks.h"
#include "tensor/host_allocators.h"

namespace sardonyx {
namespace {

constexpr std::size_t kAlignment = 64;

[[noreturn]] void FailWithoutMemory(std::size_t size) {
  Fail(Code::kFail, "out of memory: cannot allocate ", size, " bytes");
}

class Host final : public Allocator {
 public:
  void* Allocate(std::size_t size) override {
    if (size == 0) return nullptr;
    void* data = nullptr;
    if (size <= std::numeric_limits<std::size_t>::max() - kAlignment) {
      data = std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
    }
    if (data == nullptr) FailWithoutMemory(size);
    return data;
  }
  void Free(void* data) override { std::free(data); }
  Device device() const override { return {}; }
};

class HostPages final : public Allocator {
 public:
  void* Allocate(std::size_t size) override {
    void* const data = AllocatePageBlock(size);
    if (data == nullptr) FailWithoutMemory(size);
    return data;
  }
  void Free(void* data) override { FreePageBlock(data); }
  Device device() const override { return {}; }
};

// Never destroyed: buffers of other static objects may be freed after this file's would have been.
template <typename T>
union Immortal {
  Immortal() : allocator(std::make_shared<T>()) {}
  ~Immortal() {}
  std::shared_ptr<Allocator> allocator;
};

}  // namespace

const std::shared_ptr<Allocator>& HostAllocator() {
  static const Immortal<Host> immortal;
  return immortal.allocator;
}

const std::shared_ptr<Allocator>& HostAllocatorFor(std::size_t size) {
  static const Immortal<HostPages> pages;
  return IsPageBlock(size) ? pages.allocator : HostAllocator();
}

}  // namespace sardonyx
