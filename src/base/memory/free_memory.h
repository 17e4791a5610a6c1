// base/memory/free_memory.h - returns freed heap memory to the system.
#pragma once

#include <cstddef>

namespace sardonyx {

// Returns the freed memory that the allocator keeps, if it is at least `worth` bytes. Freeing large blocks between
// blocks that stay leaves holes that only this call returns. Does nothing if the C library has no such function.
void ReturnFreeMemory(std::size_t worth);

// The same, but trims the heap only if at least `worth` bytes were freed since this function last trimmed it: holes
// smaller than a page cannot be returned, and searching for them again and again would only take time.
void ReturnNewFreeMemory(std::size_t worth);

// Bytes of freed memory that the allocator keeps; 0 if the C library doesn't say.
std::size_t FreeMemory();

}  // namespace sardonyx
