// base/free_memory.h - giving freed memory of the heap back to the system.
#pragma once

#include <cstddef>

namespace sardonyx {

// Gives back what the allocator keeps of freed memory, if it is at least `worth` bytes. Work that frees large blocks
// between ones that stay leaves holes that only this closes. Does nothing where the C library has no such call.
void ReturnFreeMemory(std::size_t worth);

// The same, but of the heap only where at least `worth` bytes were freed since it was last given back by this function:
// holes smaller than a page stay free, and looking for them again and again would only take time.
void ReturnNewFreeMemory(std::size_t worth);

// What the allocator keeps of freed memory; 0 where the C library does not say.
std::size_t FreeMemory();

}  // namespace sardonyx
