// capi/handles/release.cpp - released handles that debug builds still know.
#include "capi/handles/release.h"

#include <cstddef>
#include <cstdio>
#include <deque>
#include <mutex>
#include <new>
#include <unordered_set>

#include "base/lasting.h"

namespace sardonyx::capi {
namespace {

constexpr std::size_t kKept = 20'000;

struct Released {
  std::mutex mutex;
  std::deque<void*> order;
  std::unordered_set<const void*> all;
};

// Lasting: handles are released in static destructors, too.
Released& Known() {
  static constinit Lasting<Released, MakeDefault<Released>> released;
  return *released;
}

}  // namespace

bool WasReleased(const void* handle) noexcept {
  Released& known = Known();
  const std::lock_guard lock(known.mutex);
  return known.all.contains(handle);
}

void SetAside(void* memory) noexcept {
  Released& known = Known();
  const std::lock_guard lock(known.mutex);
  known.order.push_back(memory);
  known.all.insert(memory);
  if (known.order.size() <= kKept) return;
  known.all.erase(known.order.front());
  ::operator delete(known.order.front());
  known.order.pop_front();
}

void ReportSecondRelease(const void* handle) noexcept {
  std::fprintf(stderr, "sardonyx: the handle %p was released before; it is released only once\n", handle);
}

void ReportOtherKind(const char* expected, const char* found) noexcept {
  std::fprintf(stderr, "sardonyx: expected %s to release, found %s: it is left alone\n", expected, found);
}

}  // namespace sardonyx::capi
