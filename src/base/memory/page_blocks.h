// base/memory/page_blocks.h - large blocks of memory that bypass the heap: taken from the system, and returned to it
// when they are freed.
//
// In the heap, a small block that is allocated later and stays can prevent a freed large block from being returned, and
// the heap of each thread keeps its own. Freed blocks, at most 32 MB or as much as is in use, are kept for later
// requests of a similar size, because fresh pages take time.
#pragma once

#include <cstddef>

namespace sardonyx {

// Whether blocks of this size should be allocated here. Always false if a sanitizer watches the heap.
bool IsPageBlock(std::size_t size) noexcept;

// At least `size` bytes at 64-byte alignment, contents undefined; nullptr if there is no memory. Thread-safe, no lock.
void* AllocatePageBlock(std::size_t size) noexcept;
void FreePageBlock(void* data) noexcept;

// The same with zeros as contents. Fresh pages are first touched by who writes to them.
void* AllocateZeroPageBlock(std::size_t size) noexcept;
// The same, but nullptr unless it is a block that was freed before and kept.
void* TakeKeptZeroPageBlock(std::size_t size) noexcept;
// As FreePageBlock, but the block is not kept.
void ReturnPageBlock(void* data) noexcept;

// Bytes of freed blocks that are kept for later requests; ReleasePageBlocks returns them to the system.
std::size_t KeptPageBlocks() noexcept;
void ReleasePageBlocks() noexcept;

// A range of `size` addresses, a power of two and at least kHugePage, that begins at a multiple of it, for whoever
// divides it into parts. Zeros that take no memory before they are touched. nullptr if there is none, as always where
// IsPageBlock is false.
inline constexpr std::size_t kHugePage = std::size_t{2} << 20;
void* ReservePages(std::size_t size) noexcept;
void UnreservePages(void* begin, std::size_t size) noexcept;
// Asks the system to take huge pages for a range of zeros that nobody has touched: touching 512 small ones takes four
// times as long. A hint. Touches the first page, and asks for no more for a while where that took long.
void PreferHugePages(void* begin, std::size_t size) noexcept;
// Takes that back: otherwise the system fills the gaps that DropPages leaves, to make huge pages of what is around
// them.
void AvoidHugePages(void* begin, std::size_t size) noexcept;
// Gives the memory of the whole pages in a range back; they are zeros again.
void DropPages(void* begin, std::size_t size) noexcept;

}  // namespace sardonyx
