// base/memory/kept_blocks.cpp - a ring of blocks that wait to be freed.
#include "base/memory/kept_blocks.h"

#include <array>
#include <atomic>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SDX_WATCHED_HEAP
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SDX_WATCHED_HEAP
#endif

namespace sardonyx {

#if defined(SDX_WATCHED_HEAP)

void FreeLater(void* data) noexcept { std::free(data); }

#else

namespace {

constinit std::array<std::atomic<void*>, kKeptBlocks> kept = {};
constinit std::atomic<std::size_t> next = 0;
constinit std::atomic<bool> unloading = false;

// When the library is unloaded. Static objects may free buffers after that.
[[gnu::destructor]] void FreeAllKept() {
  unloading.store(true, std::memory_order_relaxed);
  for (std::atomic<void*>& place : kept) std::free(place.exchange(nullptr, std::memory_order_acquire));
}

}  // namespace

void FreeLater(void* data) noexcept {
  if (unloading.load(std::memory_order_relaxed)) return std::free(data);
  const std::size_t place = next.fetch_add(1, std::memory_order_relaxed) % kKeptBlocks;
  std::free(kept[place].exchange(data, std::memory_order_acq_rel));
}

#endif

}  // namespace sardonyx
