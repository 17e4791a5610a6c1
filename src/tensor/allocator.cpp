// tensor/allocator.cpp - the host allocator.
#include "tensor/allocator.h"

#include <cstdlib>
#include <limits>

#include "base/error.h"

namespace sardonyx {
namespace {

constexpr std::size_t kAlignment = 64;

class Host final : public Allocator {
 public:
  void* Allocate(std::size_t size) override {
    if (size == 0) return nullptr;
    void* data = nullptr;
    if (size <= std::numeric_limits<std::size_t>::max() - kAlignment) {
      data = std::aligned_alloc(kAlignment, (size + kAlignment - 1) / kAlignment * kAlignment);
    }
    if (data == nullptr) Fail(Code::kFail, "out of memory: expected ", size, " bytes, found fewer");
    return data;
  }
  void Free(void* data) override { std::free(data); }
  Device device() const override { return {}; }
};

// Never destroyed: buffers of other static objects may be freed after this file's would have been.
union Immortal {
  Immortal() : allocator(std::make_shared<Host>()) {}
  ~Immortal() {}
  std::shared_ptr<Allocator> allocator;
};

}  // namespace

const std::shared_ptr<Allocator>& HostAllocator() {
  static const Immortal immortal;
  return immortal.allocator;
}

}  // namespace sardonyx
