// base/page_blocks.h - large blocks of memory that bypass the heap: taken from the system, and returned to it when they
// are freed.
//
// In the heap, a small block that is allocated later and stays can prevent a freed large block from being returned, and
// the heap of each thread keeps its own. Freed blocks, at most 32 MB or as much as is in use, are kept for later requests
// of a similar size, because fresh pages take time.
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
// As FreePageBlock, but the block is not kept.
void ReturnPageBlock(void* data) noexcept;

// Bytes of freed blocks that are kept for later requests; ReleasePageBlocks returns them to the system.
std::size_t KeptPageBlocks() noexcept;
void ReleasePageBlocks() noexcept;

}  // namespace sardonyx
