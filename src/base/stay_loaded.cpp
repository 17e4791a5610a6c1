// base/stay_loaded.cpp - counts of the dynamic loader, and a thread-local object with a destructor.
#include "base/stay_loaded.h"

#if defined(__linux__)
#include <dlfcn.h>

#include <atomic>
#endif

namespace sardonyx {

#if defined(__linux__)
namespace {

// The loader's handle of this library; null where it is part of the program itself.
std::atomic<void*> handle = nullptr;

// The loader unmaps no library with thread-local objects whose destructors still wait for the end of their threads.
struct UntilThreadEnds {
  UntilThreadEnds() noexcept {}
  UntilThreadEnds(const UntilThreadEnds&) = delete;
  UntilThreadEnds& operator=(const UntilThreadEnds&) = delete;
  ~UntilThreadEnds() { touched = false; }
  volatile bool touched = true;
};

}  // namespace

void HoldLibrary() noexcept {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&HoldLibrary), &info) == 0 || info.dli_fname == nullptr) return;
  void* own = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (own != nullptr) handle.store(own);
}

void MoveHoldToThisThread() noexcept {
  static thread_local UntilThreadEnds object;
  object.touched = true;
  ReleaseHold();
}

void ReleaseHold() noexcept {
  if (void* own = handle.load()) dlclose(own);
}
#else
void HoldLibrary() noexcept {}
void MoveHoldToThisThread() noexcept {}
void ReleaseHold() noexcept {}
#endif

}  // namespace sardonyx
