// tensor/weight_memory.cpp - ranges of addresses that are handed out from their beginning to their end.
#include "tensor/weight_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

#include "base/fork_mutex.h"
#include "base/lasting.h"
#include "base/page_blocks.h"

namespace sardonyx {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kLeast = std::size_t{16} << 10;  // smaller ones are left to the heap
constexpr std::size_t kMost = std::size_t{32} << 20;   // larger ones are blocks of their own
constexpr std::size_t kRange = std::size_t{64} << 20;  // a power of two
constexpr std::size_t kMany = std::size_t{4} << 20;    // of bytes in use, beside which half a huge page is little
// Systems have some huge pages ready; more they may have to fetch from other programs or their host, which takes longer
// than touching small ones.
constexpr std::size_t kMostHuge = std::size_t{128} << 20;

std::size_t RoundUp(std::size_t size, std::size_t step) { return (size + step - 1) / step * step; }

// Lies at the beginning of its addresses.
struct alignas(kAlignment) Range {
  std::size_t next = sizeof(Range);  // where the next part will lie
  std::size_t parts = 0;             // in use
  std::size_t huge = 0;              // where the huge pages end that were asked for
};

std::byte* BytesOf(Range* range) { return reinterpret_cast<std::byte*>(range); }

class Ranges {
 public:
  void* Allocate(std::size_t size) {
    const std::scoped_lock lock(mutex_);
    if (current_ == nullptr || kRange - current_->next < size) {
      void* const addresses = ReservePages(kRange);
      if (addresses == nullptr) return nullptr;
      current_ = new (addresses) Range;  // the one before goes with its last part
    }
    std::byte* const data = BytesOf(current_) + current_->next;
    used_ += size;
    if (used_ >= kMany && used_ <= kMostHuge) PreferHugePagesTo(current_->next + size);
    current_->next += size;
    ++current_->parts;
    return data;
  }

  void Free(void* data, std::size_t size) {
    const auto offset = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(data) % kRange);
    auto* const range = reinterpret_cast<Range*>(static_cast<std::byte*>(data) - offset);
    const std::scoped_lock lock(mutex_);
    used_ -= size;
    if (--range->parts == 0) {
      if (range == current_) current_ = nullptr;
      UnreservePages(range, kRange);
    } else if (range == current_ && offset + size == range->next && size <= kHugePage) {
      std::memset(data, 0, size);  // weights that another session has, too, are freed right after they were packed
      range->next = offset;
    } else {
      DropPages(data, size);
    }
  }

 private:
  void PreferHugePagesTo(std::size_t end) {
    const std::size_t first = std::max(current_->huge, RoundUp(current_->next, kHugePage));
    current_->huge = std::max(current_->huge, RoundUp(end, kHugePage));
    if (first < current_->huge) PreferHugePages(BytesOf(current_) + first, current_->huge - first);
  }

  ForkMutex mutex_;
  Range* current_ = nullptr;  // where the next part comes from
  std::size_t used_ = 0;      // bytes of all parts
};

// Lasting: sessions in static objects may outlive this file's own.
Ranges& TheRanges() {
  static constinit Lasting<Ranges, MakeDefault<Ranges>> ranges;
  return *ranges;
}

}  // namespace

bool IsWeightMemory(std::size_t size) noexcept { return size >= kLeast && size <= kMost; }

void* AllocateWeightMemory(std::size_t size) noexcept { return TheRanges().Allocate(RoundUp(size, kAlignment)); }

void FreeWeightMemory(void* data, std::size_t size) noexcept {
  if (data != nullptr) TheRanges().Free(data, RoundUp(size, kAlignment));
}

}  // namespace sardonyx
