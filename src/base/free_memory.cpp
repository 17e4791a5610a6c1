// base/free_memory.cpp - giving freed memory of the heap back to the system: glibc.
#include "base/free_memory.h"

#include "base/page_blocks.h"

#if defined(__linux__)
#include <malloc.h>
#endif

namespace sardonyx {

std::size_t FreeMemory() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return mallinfo2().fordblks + KeptPageBlocks();
#else
  return KeptPageBlocks();
#endif
}

void ReturnFreeMemory(std::size_t worth) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  if (FreeMemory() < worth) return;
  ReleasePageBlocks();
  malloc_trim(0);
#else
  if (KeptPageBlocks() >= worth) ReleasePageBlocks();
#endif
}

}  // namespace sardonyx
