// base/process.h - facts about this process: process and thread numbers, local time, resident memory; and a pause for
// spin loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <optional>

namespace sardonyx {

// For traces. On Linux the system's numbers; elsewhere 1, and a number derived from the thread's id.
int ProcessNumber();
std::int32_t ThreadNumber();

std::tm LocalTime(std::time_t seconds);

// How many of these bytes lie on whole pages that are in memory (`data` may have any alignment); nullopt if the system
// doesn't tell.
std::optional<std::size_t> ResidentBytes(const void* data, std::size_t size);

// Tells the core that this thread is in a loop that waits for another thread, so that the loop takes fewer resources
// from the thread that shares the core.
inline void SpinPause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace sardonyx
