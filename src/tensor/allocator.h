// tensor/allocator.h - where memory comes from: ours, the user's, or a plug-in's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "tensor/device.h"

namespace sardonyx {

// What an allocator has handed out, in bytes and in calls.
struct AllocatorStatistics {
  std::size_t in_use = 0, requested_in_use = 0;  // blocks as they are, and as they were asked for
  std::size_t max_in_use = 0, largest_block = 0;
  std::size_t held = 0;   // taken from the system, in use or not
  std::size_t limit = 0;  // of `held`
  std::int64_t allocations = 0, reservations = 0, extensions = 0, shrinkages = 0;
};

class Allocator {
 public:
  virtual ~Allocator() = default;
  // At least `size` bytes at the device's alignment; nullptr for 0. Fails with kFail "out of memory" naming the size.
  virtual void* Allocate(std::size_t size) = 0;
  virtual void Free(void* data) = 0;
  virtual Device device() const = 0;
  // A block that will stay for long: it does not count when the allocator decides how much to take next.
  virtual void* Reserve(std::size_t size) { return Allocate(size); }
  // Returns what is kept for later allocations to the system.
  virtual void Shrink() {}
  virtual std::optional<AllocatorStatistics> Statistics() const { return std::nullopt; }  // nullopt: it does not count
};

// The process-wide host allocator: 64-byte aligned.
const std::shared_ptr<Allocator>& HostAllocator();

}  // namespace sardonyx
