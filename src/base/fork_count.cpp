// base/fork_count.cpp - counts forks with a pthread_atfork handler, on systems that have it.
#include "base/fork_count.h"

#include <atomic>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace sardonyx {
namespace {

constinit std::atomic<std::uint32_t> forks = 0;

bool CountFromNowOn() {
#if defined(__unix__) || defined(__APPLE__)
  return pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }) == 0;
#else
  return false;
#endif
}

}  // namespace

std::uint32_t ForkCount() noexcept {
  static const bool counting = CountFromNowOn();
  static_cast<void>(counting);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace sardonyx
