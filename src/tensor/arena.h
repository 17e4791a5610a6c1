// tensor/arena.h - an allocator that takes large regions from another one and cuts blocks from them, as ONNX Runtime's
// arena does: with its parameters, its sizes, and its statistics.
//
// Our own sessions plan their memory and need no arena; this one serves callers who register an arena with the
// environment and look at its statistics or rely on its limit.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "tensor/allocator.h"

namespace sardonyx {

struct ArenaOptions {
  enum class Extend { kNextPowerOfTwo, kSameAsRequested };
  std::size_t max_memory = SIZE_MAX;
  Extend extend = Extend::kNextPowerOfTwo;
  std::size_t first_region = std::size_t{1} << 20;     // the least that is taken at first
  std::size_t second_region = std::size_t{2} << 20;    // and then; it doubles each time
  std::size_t largest_region = std::size_t{1} << 30;   // where doubling ends
  std::size_t largest_waste = std::size_t{128} << 20;  // of a block: what is larger is cut off, half a block always
};

// Thread-safe.
class Arena final : public Allocator {
 public:
  Arena(std::shared_ptr<Allocator> source, const ArenaOptions& options);
  ~Arena() override;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Fails with kFail naming the sizes where the limit is too small.
  void* Allocate(std::size_t size) override;
  void Free(void* data) override;
  Device device() const override { return source_->device(); }
  // A block of exactly this size from the source.
  void* Reserve(std::size_t size) override;
  void Shrink() override;  // returns regions without blocks
  std::optional<AllocatorStatistics> Statistics() const override;

 private:
  struct Block {
    std::size_t size = 0, requested = 0;
    bool used = false;
    bool begins_region = false;
  };
  using Blocks = std::map<std::byte*, Block>;  // by address: neighbours of a region stand side by side

  void Extend(std::size_t size);
  void* Cut(Blocks::iterator block, std::size_t size, std::size_t requested);
  Blocks::iterator Joined(Blocks::iterator block);
  bool IsRegion(Blocks::const_iterator block) const;
  void Count(std::size_t size, std::size_t requested);

  const std::shared_ptr<Allocator> source_;
  const ArenaOptions options_;
  mutable std::mutex mutex_;
  Blocks blocks_;
  std::set<std::pair<std::size_t, std::byte*>> free_;  // the smallest that fits is taken
  std::map<void*, std::size_t> reserved_;
  std::size_t next_region_;
  AllocatorStatistics statistics_;
};

}  // namespace sardonyx
