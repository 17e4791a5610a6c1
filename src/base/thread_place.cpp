// base/thread_place.cpp - reads and sets affinity masks, on systems that have them.
#include "base/thread_place.h"

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#endif

namespace sardonyx {

#if defined(__linux__)

namespace {

// struct sched_attr of the kernel's interface, in its first version; the C library of today's systems has none.
struct SchedulingAttributes {
  std::uint32_t size = sizeof(SchedulingAttributes);
  std::uint32_t policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0;  // of an ordinary thread: the length of a slice in ns, at least 100 us
  std::uint64_t deadline = 0;
  std::uint64_t period = 0;
};
static_assert(sizeof(SchedulingAttributes) == 48);

constexpr std::uint64_t kShortSlice = 500'000;

}  // namespace

int CurrentCore() noexcept { return sched_getcpu(); }

void AskForShortSlices() noexcept {
  SchedulingAttributes attributes;
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return;
  if (attributes.policy != SCHED_OTHER) return;
  attributes.size = sizeof attributes;
  attributes.runtime = kShortSlice;
  syscall(SYS_sched_setattr, 0, &attributes, 0);  // refused: as before
}

bool StayOnCores(std::span<const int> cores) noexcept {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) {
    if (core < 0 || core >= CPU_SETSIZE) return false;
    CPU_SET(core, &set);
  }
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

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
void AskForShortSlices() noexcept {}
bool StayOnCores(std::span<const int> /*cores*/) noexcept { return false; }
ThreadPlace::ThreadPlace() noexcept = default;
void ThreadPlace::KeepOff(int core) noexcept { avoided_ = core; }

#endif

}  // namespace sardonyx
