// tensor/weight_memory.cpp - ranges of addresses that are handed out from their beginning to their end.
#include "tensor/weight_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <new>

#include "base/fork_mutex.h"
#include "base/lasting.h"
#include "base/memory/page_blocks.h"

namespace sardonyx {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kLeast = std::size_t{16} << 10;  // smaller ones are left to the heap
constexpr std::size_t kMost = std::size_t{32} << 20;   // larger ones are blocks of their own
constexpr std::size_t kRange = std::size_t{64} << 20;  // a power of two
constexpr std::size_t kMany = std::size_t{4} << 20;    // of bytes in use, beside which half a huge page is little

std::size_t RoundUp(std::size_t size, std::size_t step) { return (size + step - 1) / step * step; }

// Lies at the beginning of its addresses. Parts are whole pages: a page that two parts share could not be given back.
struct Range {
  std::size_t next = kPage;     // where the next part will lie
  std::size_t touched = kPage;  // where the memory ends that parts have had; what follows are zeros that take no memory
  std::size_t parts = 0;        // in use
  std::size_t huge = 0;         // where the huge pages end that were asked for
};
static_assert(sizeof(Range) <= kPage);

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
    if (used_ >= kMany) PreferHugePagesTo(current_->next + size);
    current_->next += size;
    current_->touched = std::max(current_->touched, current_->next);
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
    } else if (range == current_ && offset + size == range->next) {
      TakeBack(range, offset);
    } else {
      Drop(range, offset, offset + size);
    }
  }

 private:
  // The last part: weights that another session has, too, are freed right after they were packed.
  static void TakeBack(Range* range, std::size_t offset) {
    if (range->touched - offset > kHugePage) {
      Drop(range, offset, range->touched);
      range->touched = offset;
      range->huge = std::min(range->huge, RoundUp(offset, kHugePage));
    } else {
      std::memset(BytesOf(range) + offset, 0, range->next - offset);
    }
    range->next = offset;
  }

  static void Drop(Range* range, std::size_t begin, std::size_t end) {
    AvoidHugePages(range, RoundUp(range->touched, kHugePage));
    DropPages(BytesOf(range) + begin, end - begin);
  }

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

void* AllocateWeightMemory(std::size_t size) noexcept { return TheRanges().Allocate(RoundUp(size, kPage)); }

void FreeWeightMemory(void* data, std::size_t size) noexcept {
  if (data != nullptr) TheRanges().Free(data, RoundUp(size, kPage));
}

}  // namespace sardonyx
