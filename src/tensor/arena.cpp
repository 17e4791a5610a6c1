// tensor/arena.cpp - cuts blocks from regions and joins them again.
#include "tensor/arena.h"

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace sardonyx {
namespace {

constexpr std::size_t kUnit = 256;  // sizes of blocks are multiples of it

std::size_t Rounded(std::size_t size) {
  if (size > SIZE_MAX - kUnit) Fail(Code::kFail, "out of memory: cannot allocate ", size, " bytes");
  return (size + kUnit - 1) / kUnit * kUnit;
}

}  // namespace

Arena::Arena(std::shared_ptr<Allocator> source, const ArenaOptions& options)
    : source_(std::move(source)),
      options_(options),
      next_region_(Rounded(std::min(options.first_region, options.max_memory))) {
  statistics_.limit = options.max_memory;
}

Arena::~Arena() {
  for (const auto& [data, block] : blocks_)
    if (block.begins_region) source_->Free(data);
  for (const auto& [data, size] : reserved_) source_->Free(data);
}

void Arena::Count(std::size_t size, std::size_t requested) {
  ++statistics_.allocations;
  statistics_.in_use += size;
  statistics_.requested_in_use += requested;
  statistics_.max_in_use = std::max(statistics_.max_in_use, statistics_.in_use);
  statistics_.largest_block = std::max(statistics_.largest_block, size);
}

// A region with room for `size` bytes. With doubling, a region is at least as large as the one before it.
void Arena::Extend(std::size_t size) {
  const std::size_t room = options_.max_memory - std::min(options_.max_memory, statistics_.held);
  if (size > room)
    Fail(Code::kFail, "out of memory: the arena's limit is ", options_.max_memory, " bytes, of which ",
         statistics_.held, " are taken; ", size, " more were requested");
  std::size_t bytes = size;
  if (options_.extend == ArenaOptions::Extend::kNextPowerOfTwo) {
    const bool fits = size <= next_region_;
    while (next_region_ < size && next_region_ <= SIZE_MAX / 2) next_region_ *= 2;
    bytes = std::max(size, std::min(next_region_, room));
    if (fits && statistics_.extensions == 0) {
      next_region_ = std::max(options_.second_region, kUnit);
    } else if (fits) {
      next_region_ = std::max(kUnit, std::min(2 * next_region_, options_.largest_region));
    }
  }
  auto* const data = static_cast<std::byte*>(source_->Allocate(bytes));
  try {
    free_.insert({bytes, data});
    blocks_[data] = {.size = bytes, .begins_region = true};
  } catch (...) {
    free_.erase({bytes, data});
    source_->Free(data);
    throw;
  }
  statistics_.held += bytes;
  ++statistics_.extensions;
}

void* Arena::Cut(Blocks::iterator block, std::size_t size, std::size_t requested) {
  const auto& [data, whole] = *block;
  const std::size_t rest = whole.size - size;
  free_.erase({whole.size, data});
  if (rest != 0 && (rest >= size || rest >= options_.largest_waste)) {
    blocks_[data + size] = {.size = rest};
    free_.insert({rest, data + size});
    block->second.size = size;
  }
  block->second.used = true;
  block->second.requested = requested;
  Count(block->second.size, requested);
  return data;
}

void* Arena::Allocate(std::size_t size) {
  if (size == 0) return nullptr;
  const std::size_t rounded = Rounded(size);
  const std::scoped_lock lock(mutex_);
  auto found = free_.lower_bound({rounded, nullptr});
  if (found == free_.end()) {
    Extend(rounded);
    found = free_.lower_bound({rounded, nullptr});
  }
  return Cut(blocks_.find(found->second), rounded, size);
}

void* Arena::Reserve(std::size_t size) {
  if (size == 0) return nullptr;
  const std::scoped_lock lock(mutex_);
  if (size > options_.max_memory - std::min(options_.max_memory, statistics_.held))
    Fail(Code::kFail, "out of memory: the arena's limit is ", options_.max_memory, " bytes, of which ",
         statistics_.held, " are taken; ", size, " more were requested");
  void* const data = source_->Allocate(size);
  reserved_[data] = size;
  statistics_.held += size;
  ++statistics_.reservations;
  Count(size, size);
  return data;
}

// `block`, which is free, with its free neighbours of the same region.
Arena::Blocks::iterator Arena::Joined(Blocks::iterator block) {
  const auto next = std::next(block);
  if (next != blocks_.end() && !next->second.used && !next->second.begins_region) {
    free_.erase({next->second.size, next->first});
    block->second.size += next->second.size;
    blocks_.erase(next);
  }
  if (block->second.begins_region || std::prev(block)->second.used) return block;
  const auto previous = std::prev(block);
  free_.erase({previous->second.size, previous->first});
  previous->second.size += block->second.size;
  blocks_.erase(block);
  return previous;
}

void Arena::Free(void* data) {
  if (data == nullptr) return;
  const std::scoped_lock lock(mutex_);
  if (const auto reserved = reserved_.find(data); reserved != reserved_.end()) {
    statistics_.in_use -= reserved->second;
    statistics_.requested_in_use -= reserved->second;
    statistics_.held -= reserved->second;
    reserved_.erase(reserved);
    return source_->Free(data);
  }
  const auto found = blocks_.find(static_cast<std::byte*>(data));
  if (found == blocks_.end() || !found->second.used)
    Fail(Code::kInvalidArgument, "arena: expected a block that it allocated, found another address");
  statistics_.in_use -= found->second.size;
  statistics_.requested_in_use -= found->second.requested;
  found->second.used = false;
  const auto whole = Joined(found);
  free_.insert({whole->second.size, whole->first});
}

bool Arena::IsRegion(Blocks::const_iterator block) const {
  const auto next = std::next(block);
  return block->second.begins_region && (next == blocks_.end() || next->second.begins_region);
}

void Arena::Shrink() {
  const std::scoped_lock lock(mutex_);
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    if (block->second.used || !IsRegion(block)) {
      ++block;
      continue;
    }
    statistics_.held -= block->second.size;
    ++statistics_.shrinkages;
    free_.erase({block->second.size, block->first});
    source_->Free(block->first);
    block = blocks_.erase(block);
  }
}

std::optional<AllocatorStatistics> Arena::Statistics() const {
  const std::scoped_lock lock(mutex_);
  return statistics_;
}

}  // namespace sardonyx
