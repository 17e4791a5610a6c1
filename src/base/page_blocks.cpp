// base/page_blocks.cpp - maps each block separately, and keeps a few freed ones in atomic slots.
#include "base/page_blocks.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SDX_WATCHED_HEAP
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SDX_WATCHED_HEAP
#endif

#if defined(__linux__) && !defined(SDX_WATCHED_HEAP)
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <new>
#endif

namespace sardonyx {

#if defined(__linux__) && !defined(SDX_WATCHED_HEAP)

namespace {

constexpr std::size_t kLeast = std::size_t{256} << 10;
constexpr std::size_t kMostKept = std::size_t{32} << 20;    // together
constexpr std::size_t kMostLarge = std::size_t{256} << 20;  // the one large block
constexpr std::size_t kPage = 4096;

// Before the bytes that the caller gets.
struct alignas(64) Header {
  std::size_t size;  // of the mapping
};

constinit std::array<std::atomic<Header*>, 64> kept = {};
constinit std::atomic<std::size_t> kept_bytes = 0;

// One block beyond kMostKept, kept if a block of its size was freed just before: a program that gets such an output
// from each run would otherwise spend more time on fresh pages than on the result.
constinit std::atomic<Header*> kept_large = nullptr;
constinit std::atomic<std::size_t> kept_large_bytes = 0, last_large = 0;

bool Fits(const Header* block, std::size_t size) { return block->size >= size && block->size - size <= size / 4; }

// Puts `block`, which may be null, into the place of the large one. Returns what was there.
Header* SwapLarge(Header* block) {
  Header* const before = kept_large.exchange(block, std::memory_order_acq_rel);
  kept_large_bytes.fetch_add((block == nullptr ? 0 : block->size) - (before == nullptr ? 0 : before->size),
                             std::memory_order_relaxed);
  return before;
}

void Unmap(Header* block) {
  if (block != nullptr) munmap(block, block->size);
}

Header* TakeLarge(std::size_t size) {
  if (kept_large.load(std::memory_order_relaxed) == nullptr) return nullptr;
  Header* const block = SwapLarge(nullptr);
  if (block == nullptr || Fits(block, size)) return block;
  Unmap(SwapLarge(block));
  return nullptr;
}

bool KeepLarge(Header* block) {
  if (block->size > kMostLarge || last_large.exchange(block->size, std::memory_order_relaxed) != block->size)
    return false;
  Unmap(SwapLarge(block));
  return true;
}

// A kept block that is large enough and no quarter larger.
Header* TakeKept(std::size_t size) {
  for (std::atomic<Header*>& place : kept) {
    if (place.load(std::memory_order_relaxed) == nullptr) continue;
    Header* block = place.exchange(nullptr, std::memory_order_acquire);
    if (block == nullptr) continue;
    if (Fits(block, size)) {
      kept_bytes.fetch_sub(block->size, std::memory_order_relaxed);
      return block;
    }
    Header* empty = nullptr;
    if (place.compare_exchange_strong(empty, block, std::memory_order_release)) continue;
    kept_bytes.fetch_sub(block->size, std::memory_order_relaxed);
    Unmap(block);  // another thread was faster
  }
  return TakeLarge(size);
}

bool Keep(Header* block) {
  if (kept_bytes.fetch_add(block->size, std::memory_order_relaxed) + block->size <= kMostKept) {
    for (std::atomic<Header*>& place : kept) {
      Header* empty = nullptr;
      if (place.load(std::memory_order_relaxed) == nullptr &&
          place.compare_exchange_strong(empty, block, std::memory_order_release))
        return true;
    }
  }
  kept_bytes.fetch_sub(block->size, std::memory_order_relaxed);
  return block->size > kMostKept && KeepLarge(block);
}

}  // namespace

bool IsPageBlock(std::size_t size) noexcept { return size >= kLeast; }

void* AllocatePageBlock(std::size_t size) noexcept {
  if (size > SIZE_MAX - sizeof(Header) - kPage) return nullptr;
  const std::size_t whole = (size + sizeof(Header) + kPage - 1) / kPage * kPage;
  Header* block = TakeKept(whole);
  if (block == nullptr) {
    void* const pages = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    block = new (pages) Header{whole};
  }
  return block + 1;
}

void FreePageBlock(void* data) noexcept {
  if (data == nullptr) return;
  Header* const block = static_cast<Header*>(data) - 1;
  if (!Keep(block)) Unmap(block);
}

std::size_t KeptPageBlocks() noexcept {
  return kept_bytes.load(std::memory_order_relaxed) + kept_large_bytes.load(std::memory_order_relaxed);
}

void ReleasePageBlocks() noexcept {
  Unmap(SwapLarge(nullptr));
  for (std::atomic<Header*>& place : kept) {
    Header* const block = place.exchange(nullptr, std::memory_order_acquire);
    if (block == nullptr) continue;
    kept_bytes.fetch_sub(block->size, std::memory_order_relaxed);
    Unmap(block);
  }
}

#else

bool IsPageBlock(std::size_t /*size*/) noexcept { return false; }
void* AllocatePageBlock(std::size_t /*size*/) noexcept { return nullptr; }
void FreePageBlock(void* /*data*/) noexcept {}
std::size_t KeptPageBlocks() noexcept { return 0; }
void ReleasePageBlocks() noexcept {}

#endif

}  // namespace sardonyx
