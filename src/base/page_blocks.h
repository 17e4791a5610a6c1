// base/page_blocks.h - large blocks of memory, from the system and back to it without the heap in between.
//
// In the heap the next small block that stays would keep a freed large one from going back, and each thread's heap
// keeps its own. A few freed blocks are kept for the next that ask for as much, because fresh pages take time.
#pragma once

#include <cstddef>

namespace sardonyx {

// Whether blocks of this size are worth it here. Never where a sanitizer watches the heap.
bool IsPageBlock(std::size_t size) noexcept;

// At least `size` bytes at 64-byte alignment, contents undefined; nullptr if there is no memory. Thread-safe, no lock.
void* AllocatePageBlock(std::size_t size) noexcept;
void FreePageBlock(void* data) noexcept;

// Bytes kept for the next blocks, and giving them back.
std::size_t KeptPageBlocks() noexcept;
void ReleasePageBlocks() noexcept;

}  // namespace sardonyx
