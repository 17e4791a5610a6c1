// tensor/allocator.h - where memory comes from: ours, the user's, or a plug-in's.
#pragma once

#include <cstddef>
#include <memory>

#include "tensor/device.h"

namespace sardonyx {

class Allocator {
 public:
  virtual ~Allocator() = default;
  // At least `size` bytes at the device's alignment; nullptr for 0. Fails with kFail "out of memory" naming the size.
  virtual void* Allocate(std::size_t size) = 0;
  virtual void Free(void* data) = 0;
  virtual Device device() const = 0;
};

// The process-wide host allocator: 64-byte aligned.
const std::shared_ptr<Allocator>& HostAllocator();

}  // namespace sardonyx
