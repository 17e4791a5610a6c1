// base/free_memory.cpp - giving freed memory of the heap back to the system: glibc.
#include "base/free_memory.h"

#if defined(__linux__)
#include <malloc.h>
#endif

namespace sardonyx {

std::size_t FreeMemory() {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  return mallinfo2().fordblks;
#else
  return 0;
#endif
}

void ReturnFreeMemory(std::size_t worth) {
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  if (FreeMemory() >= worth) malloc_trim(0);
#else
  static_cast<void>(worth);
#endif
}

}  // namespace sardonyx
