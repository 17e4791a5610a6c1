// base/thread_place.h - which core a thread runs on, and keeping a helper off the core of the thread that it helps.
//
// A waking thread is often put on the core of the one that woke it; there the two take turns, and the helper is worth
// nothing until the system balances its cores again, milliseconds later.
#pragma once

#if defined(__linux__)
#include <sched.h>
#endif

#include <span>

namespace sardonyx {

// The core that the calling thread runs on at this moment; -1 where the system doesn't say.
int CurrentCore() noexcept;

// Asks the system to let the calling thread run soon when it wakes, for shorter periods in exchange; its share of the
// core stays the same. A helper that waits until a stranger's time is over comes too late. Linux 6.12 and later; no
// effect elsewhere, or for threads with a real-time policy.
void AskForShortSlices() noexcept;

// Keeps the calling thread on these cores; false if the system refuses (there is no such core, or no such function).
bool StayOnCores(std::span<const int> cores) noexcept;

// Of one thread: made and used by that thread.
class ThreadPlace {
 public:
  ThreadPlace() noexcept;
  // From now on this thread runs on any of its cores but `core`; on any of them where `core` is the only one or
  // negative. A system call only where `core` is another one than last time.
  void KeepOff(int core) noexcept;

 private:
  int avoided_ = -1;
#if defined(__linux__)
  cpu_set_t allowed_;
  bool known_ = false;
#endif
};

}  // namespace sardonyx
