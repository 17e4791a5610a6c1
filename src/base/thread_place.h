// base/thread_place.h - which core a thread runs on, and how to keep a helper thread off the core of the thread that it
// helps.
//
// The system often puts a waking thread on the core of the thread that woke it. There the two take turns, and the
// helper is of no use until the system balances its cores again, milliseconds later.
#pragma once

#if defined(__linux__)
#include <sched.h>
#endif

#include <span>

namespace sardonyx {

// The core that the calling thread runs on at this moment; -1 if the system doesn't say.
int CurrentCore() noexcept;

// Asks the system to let the calling thread run soon when it wakes, for shorter periods in exchange; its share of the
// core stays the same. A helper that has to wait for the end of another program's time slice comes too late. Linux 6.12
// and later; no effect elsewhere, or for threads with a real-time policy.
void AskForShortSlices() noexcept;

// Keeps the calling thread on these cores; false if the system refuses (there is no such core, or no such function).
bool StayOnCores(std::span<const int> cores) noexcept;

// Belongs to one thread, which creates and uses it.
class ThreadPlace {
 public:
  ThreadPlace() noexcept;
  // From now on this thread runs on any of its cores except `core`; on all of them if `core` is the only one, or
  // negative. Makes a system call only if `core` differs from that of the last call.
  void KeepOff(int core) noexcept;

 private:
  int avoided_ = -1;
#if defined(__linux__)
  cpu_set_t allowed_;
  bool known_ = false;
#endif
};

}  // namespace sardonyx
