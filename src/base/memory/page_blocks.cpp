// base/memory/page_blocks.cpp - maps each block separately, and keeps freed ones in atomic slots.
#include "base/memory/page_blocks.h"

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

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>

#include "base/memory/huge_page_choice.h"
#endif

namespace sardonyx {

#if defined(__linux__) && !defined(SDX_WATCHED_HEAP)

namespace {

// A cache of keys and values that grows soon has blocks of this size, and where the heap's last blocks are freed it
// gives their pages back, to fetch fresh ones in the next step.
constexpr std::size_t kLeast = std::size_t{128} << 10;
constexpr std::size_t kMostKept = std::size_t{32} << 20;    // together, where less than that is in use
constexpr std::size_t kMostLarge = std::size_t{256} << 20;  // the one large block
constexpr std::size_t kPage = 4096;

// Before the bytes that the caller gets.
struct alignas(64) Header {
  std::size_t size;  // of the mapping
};

// A place for a freed block. The size may be that of a block before it: a hint that spares taking blocks that do not
// fit.
struct Place {
  std::atomic<Header*> block = nullptr;
  std::atomic<std::size_t> size = 0;
};

constinit std::array<Place, 256> kept = {};
constinit std::atomic<std::size_t> kept_bytes = 0, used_bytes = 0;

// One block beyond kMostKept, kept if a block of its size was freed just before: a program that gets such an output
// from each run would otherwise spend more time on fresh pages than on the result.
constinit std::atomic<Header*> kept_large = nullptr;
constinit std::atomic<std::size_t> kept_large_bytes = 0, last_large = 0;

constexpr std::size_t kTriedAtOnce = std::size_t{32} << 20;  // bytes of which one huge page is touched and timed
constinit HugePageChoice huge_pages;

bool Fits(std::size_t block, std::size_t size) { return block >= size && block - size <= size / 4; }

// Lengths that grow by a little each time (a decoder's cache) ask for one size again and again; pages that nobody
// touches take no memory.
std::size_t RoundedSize(std::size_t size) {
  const std::size_t step = std::max(kPage, std::bit_floor(size) / 8);
  return (size + step - 1) / step * step;
}

// A freed block that is less than a quarter too small keeps the pages that it has; fresh ones take time. Null if the
// system refuses, and the block is gone.
Header* Grown(Header* block, std::size_t size) {
  void* const moved = mremap(block, block->size, size, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) {
    munmap(block, block->size);
    return nullptr;
  }
  auto* const grown = static_cast<Header*>(moved);
  grown->size = size;
  return grown;
}

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
  if (block == nullptr || Fits(block->size, size)) return block;
  Unmap(SwapLarge(block));
  return nullptr;
}

bool KeepLarge(Header* block) {
  if (block->size > kMostLarge || last_large.exchange(block->size, std::memory_order_relaxed) != block->size)
    return false;
  Unmap(SwapLarge(block));
  return true;
}

// A kept block for which `fits` holds of its size, or null.
template <typename Fn>
Header* TakeFrom(Fn fits) {
  for (Place& place : kept) {
    if (!fits(place.size.load(std::memory_order_relaxed))) continue;
    Header* const block = place.block.exchange(nullptr, std::memory_order_acquire);
    if (block == nullptr) continue;
    if (fits(block->size)) {
      kept_bytes.fetch_sub(block->size, std::memory_order_relaxed);
      return block;
    }
    Header* empty = nullptr;  // the hint was of a block before it
    if (place.block.compare_exchange_strong(empty, block, std::memory_order_release)) continue;
    kept_bytes.fetch_sub(block->size, std::memory_order_relaxed);
    munmap(block, block->size);  // another thread was faster
  }
  return nullptr;
}

// A kept block that is large enough and no quarter larger, or that is made so.
Header* TakeKept(std::size_t size) {
  if (kept_bytes.load(std::memory_order_relaxed) != 0) {
    if (Header* const block = TakeFrom([&](std::size_t kept_size) { return Fits(kept_size, size); })) return block;
    const auto nearly = [&](std::size_t kept_size) { return kept_size < size && Fits(size, kept_size); };
    if (Header* const block = TakeFrom(nearly)) return Grown(block, size);
  }
  return TakeLarge(size);
}

// As much is kept as is in use: whoever frees many blocks at once, such as a decoder its cache, will soon ask again.
bool Keep(Header* block) {
  const std::size_t most = std::max(kMostKept, used_bytes.load(std::memory_order_relaxed));
  while (kept_bytes.load(std::memory_order_relaxed) > most) {
    Header* const other = TakeFrom([](std::size_t size) { return size != 0; });
    if (other == nullptr) break;
    Unmap(other);
  }
  if (kept_bytes.fetch_add(block->size, std::memory_order_relaxed) + block->size <= most) {
    const std::size_t size = block->size;
    for (Place& place : kept) {
      Header* empty = nullptr;
      if (place.block.load(std::memory_order_relaxed) == nullptr &&
          place.block.compare_exchange_strong(empty, block, std::memory_order_release)) {
        place.size.store(size, std::memory_order_relaxed);
        return true;
      }
    }
  }
  kept_bytes.fetch_sub(block->size, std::memory_order_relaxed);
  return block->size > kMostKept && KeepLarge(block);
}

void* MapPages(std::size_t size) {
  void* const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

// Whole pages from a multiple of `alignment` on, wherever the system would have put them.
void* MapAlignedPages(std::size_t size, std::size_t alignment) {
  auto* const pages = static_cast<std::byte*>(MapPages(size + alignment));
  if (pages == nullptr) return nullptr;
  const std::size_t before = (alignment - reinterpret_cast<std::uintptr_t>(pages) % alignment) % alignment;
  if (before != 0) munmap(pages, before);
  munmap(pages + before + size, alignment - before);
  return pages + before;
}

// Only those huge pages are wanted whose bytes are all asked for.
void* MapBlock(std::size_t whole, std::size_t asked) {
  if (asked < kHugePage) return MapPages(whole);
  void* const pages = MapAlignedPages(whole, kHugePage);
  if (pages != nullptr) PreferHugePages(pages, asked / kHugePage * kHugePage);
  return pages;
}

enum class From : std::uint8_t { kKeptOrSystem, kKept };

void* Allocate(std::size_t size, bool zeros, From from = From::kKeptOrSystem) noexcept {
  if (size > SIZE_MAX / 2) return nullptr;
  const std::size_t whole = RoundedSize(size + sizeof(Header));
  Header* block = TakeKept(whole);
  if (block != nullptr) {
    if (zeros) std::memset(block + 1, 0, size);
  } else {
    void* const pages = from == From::kKept ? nullptr : MapBlock(whole, size + sizeof(Header));
    if (pages == nullptr) return nullptr;
    block = new (pages) Header{whole};
  }
  used_bytes.fetch_add(block->size, std::memory_order_relaxed);
  return block + 1;
}

}  // namespace

bool IsPageBlock(std::size_t size) noexcept { return size >= kLeast; }

void* AllocatePageBlock(std::size_t size) noexcept { return Allocate(size, false); }
void* AllocateZeroPageBlock(std::size_t size) noexcept { return Allocate(size, true); }
void* TakeKeptZeroPageBlock(std::size_t size) noexcept { return Allocate(size, true, From::kKept); }

void ReturnPageBlock(void* data) noexcept {
  if (data == nullptr) return;
  Header* const block = static_cast<Header*>(data) - 1;
  used_bytes.fetch_sub(block->size, std::memory_order_relaxed);
  Unmap(block);
}

void FreePageBlock(void* data) noexcept {
  if (data == nullptr) return;
  Header* const block = static_cast<Header*>(data) - 1;
  used_bytes.fetch_sub(block->size, std::memory_order_relaxed);
  if (!Keep(block)) Unmap(block);
}

std::size_t KeptPageBlocks() noexcept {
  return kept_bytes.load(std::memory_order_relaxed) + kept_large_bytes.load(std::memory_order_relaxed);
}

void ReleasePageBlocks() noexcept {
  Unmap(SwapLarge(nullptr));
  for (Place& place : kept) {
    Header* const block = place.block.exchange(nullptr, std::memory_order_acquire);
    if (block == nullptr) continue;
    kept_bytes.fetch_sub(block->size, std::memory_order_relaxed);
    Unmap(block);
  }
}

void* ReservePages(std::size_t size) noexcept { return MapAlignedPages(size, size); }
void UnreservePages(void* begin, std::size_t size) noexcept { munmap(begin, size); }

void PreferHugePages(void* begin, std::size_t size) noexcept {
  auto* const pages = static_cast<std::byte*>(begin);
  for (std::size_t done = 0; done < size; done += kTriedAtOnce) {
    const std::size_t part = std::min(kTriedAtOnce, size - done);
    if (!huge_pages.AskFor(part) || madvise(pages + done, part, MADV_HUGEPAGE) != 0) continue;
    const auto start = std::chrono::steady_clock::now();
    *static_cast<volatile std::byte*>(pages + done) = std::byte{0};
    if (huge_pages.Took(std::chrono::steady_clock::now() - start) && part > kHugePage)
      AvoidHugePages(pages + done + kHugePage, part - kHugePage);
  }
}

void AvoidHugePages(void* begin, std::size_t size) noexcept {
  static_cast<void>(madvise(begin, size, MADV_NOHUGEPAGE));
}

void DropPages(void* begin, std::size_t size) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (address + kPage - 1) / kPage * kPage, end = (address + size) / kPage * kPage;
  if (first < end)
    static_cast<void>(madvise(static_cast<std::byte*>(begin) + (first - address), end - first, MADV_DONTNEED));
}

#else

bool IsPageBlock(std::size_t /*size*/) noexcept { return false; }
void* AllocatePageBlock(std::size_t /*size*/) noexcept { return nullptr; }
void FreePageBlock(void* /*data*/) noexcept {}
void* AllocateZeroPageBlock(std::size_t /*size*/) noexcept { return nullptr; }
void* TakeKeptZeroPageBlock(std::size_t /*size*/) noexcept { return nullptr; }
void* ReservePages(std::size_t /*size*/) noexcept { return nullptr; }
void UnreservePages(void* /*begin*/, std::size_t /*size*/) noexcept {}
void PreferHugePages(void* /*begin*/, std::size_t /*size*/) noexcept {}
void AvoidHugePages(void* /*begin*/, std::size_t /*size*/) noexcept {}
void DropPages(void* /*begin*/, std::size_t /*size*/) noexcept {}
void ReturnPageBlock(void* /*data*/) noexcept {}
std::size_t KeptPageBlocks() noexcept { return 0; }
void ReleasePageBlocks() noexcept {}

#endif

}  // namespace sardonyx
