// base/thread_place.cpp - affinity masks, where the system has them.
#include "base/thread_place.h"

namespace sardonyx {

#if defined(__linux__)

int CurrentCore() noexcept { return sched_getcpu(); }

ThreadPlace::ThreadPlace() noexcept {
  CPU_ZERO(&allowed_);
  known_ = sched_getaffinity(0, sizeof allowed_, &allowed_) == 0;
}

void ThreadPlace::KeepOff(int core) noexcept {
  if (core == avoided_ || !known_) return;
  avoided_ = core;
  cpu_set_t rest = allowed_;
  if (core >= 0 && core < CPU_SETSIZE) CPU_CLR(core, &rest);
  if (CPU_COUNT(&rest) == 0) rest = allowed_;
  sched_setaffinity(0, sizeof rest, &rest);  // a mask that the system refuses leaves the thread where it was
}

#else

int CurrentCore() noexcept { return -1; }
ThreadPlace::ThreadPlace() noexcept = default;
void ThreadPlace::KeepOff(int core) noexcept { avoided_ = core; }

#endif

}  // namespace sardonyx
