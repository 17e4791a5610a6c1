// capi/env_allocators.h - the allocators that callers have registered with the environment, for its sessions to share.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "capi/handles/kind.h"
#include "capi/handles/memory_info.h"
#include "runtime/environment.h"
#include "tensor/allocator.h"
#include "tensor/arena.h"

struct OrtArenaCfg {
  sardonyx::capi::Mark<sardonyx::capi::Kind::kArenaCfg> mark;
  sardonyx::ArenaOptions options;
};

namespace sardonyx::capi {

// One allocator for each device. Thread-safe. Sessions that have taken an allocator keep it.
class RegisteredAllocators {
 public:
  // Takes the place of an earlier one of the same device.
  void Add(runtime::Environment& environment, const Device& device, std::shared_ptr<Allocator> allocator);
  std::shared_ptr<Allocator> Find(const Device& device);  // null if there is none
  // Fails with kInvalidArgument if there is none.
  void Remove(runtime::Environment& environment, const OrtMemoryInfo& info);

 private:
  struct Row {
    Device device;
    std::shared_ptr<Allocator> allocator;
  };
  std::mutex mutex_;
  std::vector<Row> rows_;
};

}  // namespace sardonyx::capi
