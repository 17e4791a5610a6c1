// base/large_pages.cpp - transparent huge pages of Linux.
#include "base/large_pages.h"

#include <cstdint>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sardonyx {

void PreferLargePages(void* data, std::size_t size) noexcept {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  const auto at = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t begin = (at + kLargePage - 1) / kLargePage * kLargePage,
                       end = (at + size) / kLargePage * kLargePage;
  if (begin < end) static_cast<void>(madvise(static_cast<std::byte*>(data) + (begin - at), end - begin, MADV_HUGEPAGE));
#else
  static_cast<void>(data), static_cast<void>(size);
#endif
}

}  // namespace sardonyx
