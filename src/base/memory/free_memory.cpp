// base/memory/free_memory.cpp - returns freed heap memory to the system (glibc only).
#include "base/memory/free_memory.h"

#include <atomic>

#include "base/memory/page_blocks.h"

#if defined(__linux__)
#include <malloc.h>
#endif

namespace sardonyx {

namespace {

// Of the heap. Pages that went back to the system count as well, until their addresses are used again.
std::size_t FreeHeap() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return mallinfo2().fordblks;
#else
  return 0;
#endif
}

void TrimHeap() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  malloc_trim(0);
#endif
}

constinit std::atomic<std::size_t> free_before = 0;  // of the heap, when its free pages last went back

}  // namespace

std::size_t FreeMemory() { return FreeHeap() + KeptPageBlocks(); }

void ReturnFreeMemory(std::size_t worth) {
  if (FreeMemory() < worth) return;
  ReleasePageBlocks();
  TrimHeap();
}

void ReturnNewFreeMemory(std::size_t worth) {
  if (KeptPageBlocks() >= worth) ReleasePageBlocks();
  const std::size_t free = FreeHeap();
  const std::size_t before = free_before.load(std::memory_order_relaxed);
  if (free < before + worth) {
    if (free < before) free_before.store(free, std::memory_order_relaxed);
    return;
  }
  TrimHeap();
  free_before.store(FreeHeap(), std::memory_order_relaxed);
}

}  // namespace sardonyx
