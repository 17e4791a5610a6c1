// base/lasting.cpp - objects of the whole process that outlive the static objects of programs, and not the library.
#include "base/lasting.h"

#include <cstddef>

namespace sardonyx {
namespace {

// Recursive: making an object may need another one. Both are in static memory and have no destructor to run.
constinit std::atomic<LastingBase*> last_made = nullptr;
std::recursive_mutex& MakeMutex() {
  alignas(std::recursive_mutex) static std::byte place[sizeof(std::recursive_mutex)];
  static std::recursive_mutex* const mutex = std::construct_at(reinterpret_cast<std::recursive_mutex*>(place));
  return *mutex;
}

}  // namespace

void* LastingBase::Make(void* (*make)()) {
  const std::lock_guard lock(MakeMutex());
  if (void* const made = object_.load(std::memory_order_relaxed); made != nullptr) return made;
  void* const made = make();
  next_ = last_made;
  last_made = this;
  object_.store(made, std::memory_order_release);
  return made;
}

void DropLasting() {
  const std::lock_guard lock(MakeMutex());
  while (LastingBase* const last = last_made) {
    last_made = last->next_;
    last->destroy_(last->object_.exchange(nullptr));
  }
}

}  // namespace sardonyx
